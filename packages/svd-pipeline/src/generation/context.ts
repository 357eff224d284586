import { countOf, type Device, type DType, VdError } from "@vd/kernels-native";
import type { DeviceTeam, PlaneDims, Tuning } from "@vd/tensor";
import type { CallCounts } from "../denoising/call-planner";
import type { Sampling } from "../denoising/chosen-sampling";
import type { ChosenCalls } from "../denoising/chosen-savings";
import type { ChosenDenoiser } from "../denoising/denoiser";
import type { ModelComponents } from "../opening/components";
import type { Models } from "../opening/models";
import type { CheckedOptions } from "../options/check-generate";
import type { EightBits } from "../precision/eight-bits";
import type { StageShape } from "../stages/definitions";
import type { PinnedWeights } from "../stages/pinned-weights";
import type { SharedArena } from "../stages/shared-arena";
import type { StageLayouts } from "../stages/stage";
import type { StageLoader } from "../stages/stage-loader";
import type { GenerateOptions, Precision } from "../types";
import type { Conditions } from "./conditions";
import type { EncodedPicture, Picture } from "./encode-picture";
import type { GenerationNoise, NoisePart } from "./noise";
import type { Pinning } from "./pinning";
import type { Progress } from "./progress";
import type { GenerationState } from "./resume/generation-state";
import type { Scratch } from "./scratch";
import { clipLength, decodedFrames } from "./steering/frame-counts";

/** Everything that one generation works with. */
export interface GenerationContext {
  device: Device;
  /** Where several devices share the work; `device` is the first of them. */
  team?: DeviceTeam | undefined;
  components: ModelComponents;
  models: Models;
  shape: StageShape;
  checked: CheckedOptions;
  options: GenerateOptions;
  sampling: Sampling;
  /** Where not every call of the denoiser is made in full. */
  calls: ChosenCalls | undefined;
  layouts: StageLayouts;
  scratch: Scratch;
  /** Of activations, and of latents between steps. */
  precision: Precision;
  /** What computes layers in 8 bits; undefined for none. */
  eightBits: EightBits | undefined;
  /** What decides kernel variants. */
  tuning: Tuning;
  /** What does not go together of checkpoint, sampler, steps and guidance. */
  warnings: readonly string[];
  /** A GPU loads, encodes and takes in pictures beside this thread's work. */
  overlap: boolean;
  /** Stages stay loaded from one clip to the next, and all that they hold. */
  keepsStages?: boolean | undefined;
  /** The decoder's working memory leaves no room for weights of other stages. */
  decodesAlone?: boolean | undefined;
  /** Bytes of the device's memory through which the denoiser's weights pass; 0 or undefined where they stay on it. */
  streamBytes?: number | undefined;
  /** The pipeline's weights in page-locked memory, which generations with the least memory stream. */
  pinned?: PinnedWeights | undefined;
  /** Whether they are kept for the next generation; if not, why. */
  pinning?: Pinning | undefined;
  /** What denoises instead of own kernels on `device`. */
  denoiser?: ChosenDenoiser | undefined;
  /** Where several videos share a picture and the noise of a seed. */
  shared?: SharedPicture | undefined;
  /** Pictures that were read for the generation, by their sources: a stream can be read once. */
  pictures?: ReadPictures | undefined;
  /** Hears of what goes on when the video is there, which never rejects and ends before another generation may begin. Where it is undefined, the
   *  video waits for that. */
  onRest?: ((rest: Promise<void>) => void) | undefined;
  /** What is kept on the disk of the generation, and what it goes on from. */
  state?: GenerationState | undefined;
}

/** A picture and a seed of which several videos are made. */
export interface SharedPicture {
  /** Which part of the noise this video takes. */
  part: NoisePart;
  /** What the first of the videos makes of the picture; the others use it. */
  encoded?: EncodedPicture;
  /** The checksum of its pixels, where states are kept. */
  digest?: string;
  pictures?: ReadPictures;
}

/** Pictures in the frames' shape, by their sources. */
export type ReadPictures = Map<unknown, Promise<Picture>>;

/** A generation under way: its context, and what its parts share. */
export interface GenerationRun {
  readonly context: GenerationContext;
  readonly progress: Progress;
  /** Of `device`. */
  readonly loader: StageLoader;
  /** Of each device, in the order of the team. */
  readonly loaders: readonly StageLoader[];
  readonly noise: GenerationNoise;
  /** Settles when the stages before decoding are being loaded, where that begins before the picture is there. */
  readonly loadingAhead?: Promise<void> | undefined;
  /** Where stages that follow each other work, the decoder among them: it is loaded beside the denoiser then. Undefined where it is not. */
  arenaAhead?: SharedArena | undefined;
  /** What follows from embeddings of CLIP's, where it is computed while the autoencoder still encodes. */
  readonly conditionsAhead?: Map<Float32Array, Promise<Conditions>>;
  /** How the denoiser's calls were made so far. */
  readonly callsMade: CallCounts;
}

/** Where a model denoises, unless that is elsewhere. */
export const denoisingDevice = ({ device, denoiser }: Pick<GenerationContext, "device" | "denoiser">): Device =>
  denoiser?.kind === "own" ? denoiser.device : device;

const DTYPES = { float32: "f32", float16: "f16", bfloat16: "bf16" } as const satisfies Record<Precision, DType>;

/** Returns the shapes that checked options mean for a model. factor: by how much the autoencoder shrinks a side. */
export function stageShape(
  checked: CheckedOptions,
  options: Pick<GenerateOptions, "pastFrames" | "lastImage">,
  factor: number,
  precision: Precision,
): StageShape {
  const { width, height, numFrames, decodeChunk, minGuidance, maxGuidance } = checked;
  const rows = Math.max(minGuidance, maxGuidance) > 1 ? 2 : 1;
  const counts = { clipFrames: clipLength(checked, options), decodedFrames: decodedFrames(checked) };
  return { numFrames, ...counts, width, height, factor, rows, decodeChunk, dtype: DTYPES[precision] };
}

/**
 * Checks latents that a caller gives. where: the option that they come from.
 *
 * @throws VdError `dtype` for what is no array of floats, `shape` for another length, `attr` for values that are not finite
 */
export function checkLatents(
  where: string,
  latents: unknown,
  context: Pick<GenerationContext, "shape" | "models">,
): void {
  const dims = latentDims(context);
  if (!(latents instanceof Float32Array))
    throw new VdError({ code: "dtype", where, expected: "latents as Float32Array", got: typeof latents });
  if (latents.length !== countOf(dims)) {
    const expected = `${countOf(dims)} numbers, [${dims}]`;
    throw new VdError({ code: "shape", where, expected, got: String(latents.length) });
  }
  const wrong = latents.find((value) => !Number.isFinite(value));
  if (wrong !== undefined) throw new VdError({ code: "attr", where, expected: "finite latents", got: String(wrong) });
}

/** Returns the sizes of a generation's latents, [F,C,h,w]. */
export function latentDims({ shape, models }: Pick<GenerationContext, "shape" | "models">): PlaneDims {
  const { numFrames, width, height, factor } = shape;
  return [numFrames, models.vae.config.latentChannels, height / factor, width / factor];
}
