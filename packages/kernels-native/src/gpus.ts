import { join } from "node:path";
import type { NativeGpuList } from "./addon-types";
import { awaitNative, callNative } from "./errors";
import { loadAddon, packageDir } from "./load";

/** Folder of the device code that comes with the package. */
export const imageDir = (): string => join(packageDir(), "prebuilds", "cuda");

/** Starts the NVIDIA driver off the event loop, which may take a second; {@link listGpus} answers at once afterwards.
 *  Resolves to whether it can be used. */
export function startDriver(): Promise<boolean> {
  return awaitNative(() => loadAddon().startDriver());
}

/** The GPUs as the driver sees them. dir: folder of the device code. */
export function listGpus(dir = imageDir()): NativeGpuList {
  return callNative(() => loadAddon().listGpus(dir));
}
