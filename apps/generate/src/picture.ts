import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { VdError } from "@vd/kernels-native";
import { fileError } from "@vd/tensor";
import sharp from "sharp";

/**
 * Makes sure, before a model is loaded, that a file is a picture that decodes to its end.
 * @throws VdError `io` when it cannot be read or is no picture.
 */
export async function checkPicture(path: string): Promise<void> {
  const expected = "a picture file";
  if (/^https?:/i.test(path)) {
    throw new VdError({ code: "io", where: "IMAGE", expected, got: "a web address", hint: "Download it first" });
  }
  const bytes = await readRegularFile(path).catch((error: unknown) => {
    throw error instanceof VdError ? error : fileError(path, expected, error, "IMAGE");
  });
  try {
    await sharp(bytes).resize(8, 8).raw().toBuffer();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.trim().split("\n")[0] : String(cause);
    const got = bytes.length === 0 ? `an empty file (${path})` : `${basename(path)}, which does not decode: ${reason}`;
    const hint = "Open it in a viewer to see if it is whole, or save it as PNG or JPEG";
    throw new VdError({
      code: "io",
      where: "IMAGE",
      expected: "a PNG, JPEG, WebP, AVIF, GIF, TIFF or SVG picture",
      got,
      hint,
      cause,
    });
  }
}

/** Looks before it opens: opening a pipe would wait for its writer. */
async function readRegularFile(path: string): Promise<Uint8Array> {
  const found = await stat(path);
  if (found.isFile() || found.isDirectory()) return readFile(path);
  const got = `a device or a pipe (${path})`;
  throw new VdError({ code: "io", where: "IMAGE", expected: "a picture file", got });
}
