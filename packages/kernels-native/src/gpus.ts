import { join } from "node:path";
import { installedImageDir, prebuildsDir } from "../lib/locate.cjs";
import type { NativeGpuList } from "./addon-types";
import { environment } from "./env";
import { awaitNative, callNative } from "./errors";
import { loadAddon } from "./load";
import { unpackedPath } from "./unpacked-path";

/** Folder of the device code: that which the environment names, that of `@vd/kernels-cuda`, or where it would be if it were installed. */
export function imageDir(): string {
  const named = environment.cudaImageDir();
  if (named !== undefined) return named;
  return unpackedPath(installedImageDir() ?? join(prebuildsDir, "../node_modules/@vd/kernels-cuda/images"));
}

/** Starts the NVIDIA driver off the event loop, which may take a second; {@link listGpus} answers at once afterwards.
 *  Resolves to whether it can be used. */
export function startDriver(): Promise<boolean> {
  return awaitNative(() => loadAddon().startDriver());
}

/** The GPUs as the driver sees them. dir: folder of the device code. */
export function listGpus(dir = imageDir()): NativeGpuList {
  return callNative(() => loadAddon().listGpus(dir));
}
