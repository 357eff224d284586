import type { CompileOptions, Device } from "@vd/kernels-native";
import type { GenerationContext } from "./context";

/** Returns how the denoiser is compiled. A CUDA graph takes a call to record, which pays where it is replayed, and replays begin a millisecond
 *  after they were asked for: where calls queue nobody waits for that, and where devices wait for each other between calls all of them do. */
export function denoiseCompile({ sampling, streamBytes, team }: GenerationContext, { kind }: Device): CompileOptions {
  const repays = sampling.sampler.numModelCalls > 2 && team === undefined;
  return { capture: kind === "cuda" && repays, streamBytes };
}
