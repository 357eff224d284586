import type { CompileOptions, Device } from "@vd/kernels-native";
import { usableBytes } from "@vd/vae-opt";
import { stepsOnDevice } from "../denoising/chosen-sampling";
import { stagesBefore } from "../stages/generation-stages";
import type { GenerationContext, GenerationRun } from "./context";

/** Returns how the denoiser is compiled. A CUDA graph takes a call to record, which pays where it is replayed. */
export function denoiseCompile({ sampling }: GenerationContext, { kind }: Device): CompileOptions {
  return { capture: kind === "cuda" && sampling.sampler.numModelCalls > 2 };
}

/** Begins to load the stages before decoding, if all of them fit into the memory at once: the device then takes in
 *  weights while this thread prepares the picture and while the picture is encoded. */
export async function loadAhead({ context, loader }: GenerationRun): Promise<void> {
  const { models, components, shape, denoiser, device, checked, layouts, options } = context;
  const counts = {
    ...{ clipSize: components.clipPixels.size, numModelCalls: 1, stepNeeds: stepsOnDevice(context) },
    // Calls of several kinds share memory that is allocated when they begin.
    calls: context.calls && [],
  };
  const [embed, encode, ...denoising] = stagesBefore(models, shape, counts).map(([stage]) => stage);
  const denoisesHere = denoiser === undefined || (denoiser.kind === "own" && denoiser.device === device);
  // The picture's encoder has few weights, and what follows it takes longest.
  const wanted = [encode!, embed!, ...(denoisesHere ? denoising : [])];
  let bytes = 0;
  for (const stage of wanted) {
    const { memory } = await layouts.inSlices(stage, options.signal);
    bytes += memory.peakBytes + memory.weightBytes;
  }
  if (bytes > (await usableBytes(device, checked.memory))) return;
  for (const stage of wanted) loader.loadAhead(stage, stage.name === "denoise" ? denoiseCompile(context, device) : {});
}
