import type { CompileOptions, Device } from "@vd/kernels-native";
import type { GenerationContext } from "./context";

/** Returns how the denoiser is compiled. A CUDA graph takes a call to record, which pays where it is replayed. */
export function denoiseCompile({ sampling, streamBytes }: GenerationContext, { kind }: Device): CompileOptions {
  return { capture: kind === "cuda" && sampling.sampler.numModelCalls > 2, streamBytes };
}
