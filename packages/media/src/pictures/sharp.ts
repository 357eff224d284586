import { VdError } from "@vd/kernels-native";

/** Loads the image library when it is needed: most of this package does without. @throws VdError `unsupported`. */
export async function loadSharp(): Promise<typeof import("sharp").default> {
  try {
    return (await import("sharp")).default;
  } catch (cause) {
    const got = (cause as Error).message.split("\n")[0]!;
    const hint = "Install it for this system: npm install sharp.";
    throw new VdError({ code: "unsupported", where: "sharp", expected: "the image library", got, hint, cause });
  }
}
