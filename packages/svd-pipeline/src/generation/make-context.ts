import { ownTurn } from "@vd/tensor";
import { samplingFor } from "../denoising/chosen-sampling";
import { callsFor } from "../denoising/chosen-savings";
import { requireWhole } from "../devices/require-whole";
import type { OpenModel } from "../opening/open-model";
import type { CheckedOptions } from "../options/check-generate";
import { withSize } from "../options/with-size";
import { settleConvolutions } from "../precision/convolutions";
import type { StageShape } from "../stages/definitions";
import type { PinnedWeights } from "../stages/pinned-weights";
import type { StageLayouts } from "../stages/stage";
import type { GenerateOptions } from "../types";
import { checkLatents, type GenerationContext, stageShape } from "./context";
import { fitWarnings } from "./fit-warnings";
import type { Scratch } from "./scratch";

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
  { scratch, pinned, layoutsOf, usualSteps }: Kept,
): Promise<GenerationContext> {
  const { options, checked } = await withSize(wanted, given.checked, factor);
  const { components, models, device, team, precision, eightBits, layers, tuning, denoiser } = opened;
  const denoises = denoiser?.kind === "own" ? denoiser.device : device;
  const circumstances = { device: denoises, precision, memory: checked.memory };
  const convolutions = await settleConvolutions(layers.convolutions, circumstances);
  const shape = { ...stageShape(checked, options, factor, precision), decoder: eightBits?.decoder, convolutions };
  const layouts = layoutsOf(shape);
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
  return { device, team, components, models, shape, layouts, scratch, denoiser, pinned, ...choices };
}
