import { readFile, stat } from "node:fs/promises";
import { isVdError, PATH, requireArgument, shownJson, VdError } from "@vd/kernels-native";

/** Most bytes of a configuration; those of models have some thousand. */
const MAX_BYTES = 2 ** 20;
/** Most levels of lists and objects. */
const MAX_LEVELS = 64;

/**
 * Reads a JSON object from a file. hint: what to do about one that cannot be read; maxBytes: of the file, default those of the
 * largest configuration.
 *
 * @throws VdError `attr` for what is no path, `io` if it cannot be read, `weights` if it is no JSON object, or larger than any configuration is
 */
export async function readJson(path: string, hint?: string, maxBytes = MAX_BYTES): Promise<Record<string, unknown>> {
  requireArgument("readJson", path, PATH);
  let text: string;
  try {
    const { size } = await stat(path);
    if (size > maxBytes) throw wrong(path, `a configuration of at most ${maxBytes} bytes`, `${size} bytes`);
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (isVdError(cause)) throw cause;
    const missing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    throw new VdError({
      code: "io",
      where: path,
      expected: "a readable configuration file",
      got: missing ? "no such file" : (cause as Error).message,
      hint,
      cause,
    });
  }
  return parseObject(path, text);
}

function wrong(path: string, expected: string, got: string, cause?: unknown): VdError {
  return new VdError({ code: "weights", where: path, expected, got, cause });
}

/** The index behind the string that opens at `start`; the text's end for one that does not close. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return Math.min(at + 1, text.length);
}

/**
 * Python writes numbers that JSON does not have; as strings they reach whoever knows what they mean. Goes over the text
 * once, whatever it is.
 */
function withPythonNumbers(path: string, text: string): string {
  const token = /["[\]{}]|-?Infinity|NaN/g;
  const parts: string[] = [];
  let [kept, levels] = [0, 0];
  for (let found = token.exec(text); found; found = token.exec(text)) {
    const [word] = found;
    if (word === '"') token.lastIndex = stringEnd(text, found.index);
    else if (word === "[" || word === "{") levels++;
    else if (word === "]" || word === "}") levels--;
    else {
      parts.push(text.slice(kept, found.index), `"${word}"`);
      kept = token.lastIndex;
    }
    if (levels > MAX_LEVELS) throw wrong(path, `JSON of at most ${MAX_LEVELS} levels`, "more");
  }
  return [...parts, text.slice(kept)].join("");
}

function parseObject(path: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(withPythonNumbers(path, text));
  } catch (cause) {
    throw isVdError(cause) ? cause : wrong(path, "JSON", (cause as Error).message, cause);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw wrong(path, "a JSON object", shownJson(value));
}
