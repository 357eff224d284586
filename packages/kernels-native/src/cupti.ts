import { join } from "node:path";
import type { NativeKernelSum } from "./addon-types";
import { environment } from "./env";
import { callNative } from "./errors";
import { loadAddon } from "./load";

/** All launches of one kernel: its name on the device, how often it ran, and for how long, in µs. */
export type KernelSum = NativeKernelSum;

const LIBRARY = "libcupti.so";
/** Where toolkits keep it, below their folder. */
const TOOLKIT_FOLDERS = ["extras/CUPTI/lib64", "lib64", "lib"];
/** The sonames of the CUDA versions that the kernels are built for. */
const SONAMES = [`${LIBRARY}.13`, `${LIBRARY}.12`, LIBRARY];

function libraries(): string[] {
  // A toolkit has the plain name, the Python wheels have the sonames alone.
  const named = environment.cudaPath() === "" ? [] : [environment.cudaPath()];
  const inWheels = named.flatMap((folder) => SONAMES.map((soname) => join(folder, "lib", soname)));
  const inToolkit = (toolkit: string) => TOOLKIT_FOLDERS.map((folder) => join(toolkit, folder, LIBRARY));
  return [...named.flatMap(inToolkit), ...inWheels, ...SONAMES, ...inToolkit("/usr/local/cuda")];
}

/** Times of single kernels by NVIDIA's CUPTI, where the machine has it; it comes with the CUDA toolkit. Another tool that
 *  uses CUPTI, such as Nsight Systems, may keep it from recording. */
export const cupti = {
  /** Begins to record. Returns why nothing is recorded, as a sentence; empty if it is. */
  start(): string {
    if (process.platform !== "linux") return "CUPTI is looked for on Linux only.";
    return callNative(() => loadAddon().startCupti(libraries()));
  },
  /** Ends recording. */
  stop(): void {
    callNative(() => loadAddon().stopCupti());
  },
  /** NVTX ranges that CUPTI heard of since the last call: none unless it is the tool that NVTX_INJECTION64_PATH names. */
  takeRanges(): number {
    return callNative(() => loadAddon().takeRanges());
  },
  /** What was recorded since the last call, the longest first; kernels under way come later. */
  take(): KernelSum[] {
    return callNative(() => loadAddon().takeKernels());
  },
};
