import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { isVdError, VdError } from "@vd/kernels-native";
import { loadImage, type PictureUse, type RgbImage } from "@vd/media";
import { fileError } from "@vd/tensor";
import { STANDARD } from "./pictures";

/**
 * Reads the picture to animate, a path or an address, before a model is loaded. use: at which size it will be used. where: the option
 * that names it. stdin: what `-` stands for.
 *
 * @throws VdError `io` when it cannot be read or is no picture, `unsupported` or `memory` as `loadImage` does
 */
export async function readPicture(
  path: string,
  use: PictureUse,
  { where = "IMAGE", stdin }: { where?: string; stdin?: (() => AsyncIterable<Uint8Array>) | undefined } = {},
): Promise<RgbImage> {
  const expected = "a picture file";
  if (path === STANDARD && stdin)
    return loadImage(stdin(), use).catch((error: unknown) => {
      throw isVdError(error) ? ofPicture(error, "standard input", where) : error;
    });
  if (/^(https?|file|data):/i.test(path)) return loadImage(path, use);
  const bytes = await readRegularFile(path, where).catch((error: unknown) => {
    throw error instanceof VdError ? error : fileError(path, expected, error, where);
  });
  return loadImage(bytes, use).catch((error: unknown) => {
    throw isVdError(error) ? ofPicture(error, path, where) : error;
  });
}

/** An error about a file's bytes as one about the picture of that name. */
function ofPicture({ code, expected, got, hint, cause }: VdError, path: string, where: string): VdError {
  return new VdError({ code, where, expected, got: `${basename(path)}: ${got}`, hint, cause });
}

/** Looks before it opens: opening a pipe would wait for its writer. */
async function readRegularFile(path: string, where: string): Promise<Uint8Array> {
  const found = await stat(path);
  if (found.isFile() || found.isDirectory()) return readFile(path);
  const got = `a device or a pipe (${path})`;
  throw new VdError({ code: "io", where, expected: "a picture file", got });
}
