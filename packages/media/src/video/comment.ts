import { open } from "node:fs/promises";
import { PATH, requireArgument, VdError } from "@vd/kernels-native";
import { fileError } from "@vd/tensor";

/** What a comment begins with, so that it can be told from all other bytes of a file, whatever its format. */
const MARK = "vd-comment";
/** Comments are short; a file that says otherwise is damaged. */
const MOST_LETTERS = 65_536;
/** Where files keep their comments: near one of their ends. */
const LOOKED_AT_BYTES = 4 * 2 ** 20;

const PRINTABLE = /^[\x20-\x7e]*$/;

/**
 * Returns a comment as files keep it: with a mark and its length in front.
 *
 * @throws VdError `attr` for other letters than printable ASCII, or too many
 */
export function framedComment(comment: string): string {
  if (PRINTABLE.test(comment) && comment.length <= MOST_LETTERS) return `${MARK}:${comment.length}:${comment}`;
  const expected = `at most ${MOST_LETTERS} letters of printable ASCII`;
  throw new VdError({ code: "attr", where: "comment", expected, got: `${comment.length} letters` });
}

/** The longest block of data in a GIF. Source: GIF89a, section 15. */
const GIF_BLOCK = 255;
/** Comment extension and trailer. Source: GIF89a, sections 24 and 27. */
const GIF_COMMENT = [0x21, 0xfe] as const;
const GIF_TRAILER = 0x3b;

/** Returns a GIF with a comment in front of its end. */
export function gifWithComment(gif: Uint8Array, comment: string): Uint8Array {
  const text = Buffer.from(framedComment(comment), "latin1");
  const parts: Uint8Array[] = [gif.subarray(0, gif.length - 1), Uint8Array.of(...GIF_COMMENT)];
  for (let at = 0; at < text.length; at += GIF_BLOCK) {
    const block = text.subarray(at, at + GIF_BLOCK);
    parts.push(Uint8Array.of(block.length), block);
  }
  return Buffer.concat([...parts, Uint8Array.of(0, GIF_TRAILER)]);
}

/** The text of the comment whose extension begins at `at`: blocks of data, each behind its length. */
function gifComment(bytes: Buffer, at: number): string {
  let text = "";
  for (let i = at; i < bytes.length && bytes[i] !== 0; i += bytes[i]! + 1)
    text += bytes.toString("latin1", i + 1, i + 1 + bytes[i]!);
  return text;
}

/** The comment in bytes of a file; undefined where there is none. */
function commentIn(bytes: Buffer): string | undefined {
  const isGif = bytes.toString("latin1", 0, 4) === "GIF8";
  for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + 1)) {
    const text = isGif ? gifComment(bytes, at - 1) : bytes.toString("latin1", at, at + MOST_LETTERS + 32);
    const [, letters] = /^vd-comment:(\d{1,5}):/.exec(text) ?? [];
    if (letters === undefined) continue;
    const begin = MARK.length + letters.length + 2;
    const comment = text.slice(begin, begin + Number(letters));
    if (comment.length === Number(letters) && PRINTABLE.test(comment)) return comment;
  }
  return undefined;
}

/** Reads bytes of a file from its two ends, where comments are; a GIF whole, since its comment is looked for block by block. */
async function readEnds(path: string): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const length = Math.min(size, LOOKED_AT_BYTES);
    const head = Buffer.alloc(length);
    await file.read(head, 0, length, 0);
    if (size <= LOOKED_AT_BYTES) return head;
    const tail = Buffer.alloc(Math.min(length, size - length));
    await file.read(tail, 0, tail.length, size - tail.length);
    return Buffer.concat([head, tail]);
  } finally {
    await file.close();
  }
}

/**
 * Returns the comment that {@link EncodeOptions} put into an MP4, WebM, GIF, WebP or PNG file; undefined for a file without one.
 *
 * @throws VdError `attr` for what is no path, `io` for a file that cannot be read
 */
export async function readComment(path: string): Promise<string | undefined> {
  requireArgument("readComment", path, PATH);
  const bytes = await readEnds(path).catch((error: unknown) => {
    throw fileError(path, "a video or picture file", error);
  });
  return commentIn(bytes);
}
