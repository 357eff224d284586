import { type DeviceInfo, devices } from "@vd/kernels-native";
import { ownTurn } from "@vd/tensor";
import { mostBytes, spatialBytesOf, usableBytes } from "@vd/vae-opt";
import { samplingFor } from "../denoising/chosen-sampling";
import { callsFor } from "../denoising/chosen-savings";
import { requireWhole } from "../devices/require-whole";
import type { OpenModel } from "../opening/open-model";
import type { CheckedOptions } from "../options/check-generate";
import type { Convolutions } from "../options/choices";
import { withSize } from "../options/with-size";
import { type ConvolutionMethod, normsAreFused, settleConvolutions } from "../precision/convolutions";
import type { StageShape } from "../stages/definitions";
import type { PinnedWeights } from "../stages/pinned-weights";
import type { StageLayouts } from "../stages/stage";
import type { GenerateOptions } from "../types";
import { checkLatents, denoisingDevice, type GenerationContext, stageShape } from "./context";
import { fitWarnings } from "./fit-warnings";
import { decodesBesideTransforms } from "./layout-stages";
import { denoisesWithWeights } from "./memory-phases";
import type { Scratch } from "./scratch";
import { generationStagesBefore } from "./stage-counts";

/** A model, and options that were checked for it. factor: pixels a latent's side. */
export interface CheckedRequest {
  opened: OpenModel;
  factor: number;
  checked: CheckedOptions;
}

/** What a pipeline keeps from one generation to the next. */
export interface Kept {
  scratch: Scratch;
  pinned: PinnedWeights;
  layoutsOf(shape: StageShape): StageLayouts;
  /** Whether stages stay loaded from one clip to the next. */
  keepsStages?: boolean | undefined;
  /** Steps of the model's defaults. */
  usualSteps: number;
}

/**
 * Returns everything that a generation works with. The event loop turns between its parts.
 *
 * @throws VdError `attr` or `unsupported` for options that this model or its devices cannot take
 */
export async function makeContext(
  { opened, factor, ...given }: CheckedRequest,
  wanted: GenerateOptions,
  { scratch, pinned, layoutsOf, usualSteps, keepsStages }: Kept,
): Promise<GenerationContext> {
  const { options, checked } = await withSize(wanted, given.checked, factor);
  const { components, models, device, team, precision, eightBits, layers, tuning, denoiser } = opened;
  // Asked for once: a driver takes a third of a millisecond to say.
  const known = devices();
  const decoding = {
    decoder: eightBits?.decoder,
    fusedNorm: normsAreFused(device, precision, known),
    spatialBytes: spatialBytesOf(device),
  };
  const denoising = { fusedLayerNorm: normsAreFused(denoisingDevice(opened), precision, known) };
  const shape = { ...stageShape(checked, options, factor, precision), ...decoding, ...denoising };
  await ownTurn();
  const sampling = await samplingFor(components, checked, precision);
  // A profiler adds up what runs one after the other, and little memory is for one stage at a time.
  const overlap = device.kind === "cuda" && checked.memory === "full" && !options.profiler;
  if (options.latents) checkLatents("latents", options.latents, { shape, models });
  const calls = callsFor(checked, shape, sampling, denoiser);
  const fit = fitWarnings({ components, checked, usualSteps, sampler: sampling.sampler });
  const warnings = [...fit, ...(eightBits?.warnings ?? [])];
  const choices = { precision, eightBits, tuning, checked, options, sampling, calls, overlap, warnings };
  if (team) requireWhole(shape, calls !== undefined);
  const contextOf = (convolutions: ConvolutionMethod): GenerationContext => {
    const settled = { ...shape, convolutions };
    const parts = { device, team, components, models, scratch, denoiser, pinned, keepsStages };
    return { ...parts, shape: settled, layouts: layoutsOf(settled), ...choices };
  };
  return contextOf(await settledMethod(layers.convolutions, contextOf, known));
}

/** How a generation computes 3x3 convolutions. */
async function settledMethod(
  wanted: Convolutions,
  contextOf: (method: ConvolutionMethod) => GenerationContext,
  known: DeviceInfo[],
): Promise<ConvolutionMethod> {
  const context = contextOf("direct");
  const { precision, checked, keepsStages } = context;
  const denoises = denoisingDevice(context);
  const fits = async (method: ConvolutionMethod) => {
    const context = contextOf(method);
    // Those of the decoder gain less than smaller pieces lose.
    const decodes = method !== "winograd" || (await decodesBesideTransforms(context));
    if (decodes && (await denoisesWithWeights(context, denoises))) return true;
    for (const stage of generationStagesBefore(context)) context.layouts.forget(stage);
    return false;
  };
  const circumstances = { device: denoises, precision, memory: checked.memory };
  // Where stages stay loaded from clip to clip, transforms take their memory from all of them.
  const fitsAlways = async (method: ConvolutionMethod) =>
    method === "compact" && (await usableBytes(denoises, "full")) >= mostBytes("full");
  return settleConvolutions(wanted, { ...circumstances, fits: keepsStages ? fitsAlways : fits }, known);
}
