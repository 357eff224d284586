import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { VdError } from "@vd/kernels-native";

/** What lists and summaries call the bundled model. */
export const BUNDLED_NAME = "tiny-svd (bundled)";

/**
 * The folder of the bundled model, tiny-svd.
 * @throws VdError `io` when its package is not installed.
 */
export function bundledModelFolder(): string {
  try {
    return dirname(createRequire(import.meta.url).resolve("@vd/model-tiny-svd/package.json"));
  } catch (cause) {
    const expected = "the bundled model, the package @vd/model-tiny-svd";
    const hint = "Install the workspace again, or name a model with --model";
    throw new VdError({ code: "io", where: "--model", expected, got: "no such package", hint, cause });
  }
}

/** The picture that is animated when none is named. */
export function bundledPicture(): string {
  return join(bundledModelFolder(), "samples", "one-ball.png");
}
