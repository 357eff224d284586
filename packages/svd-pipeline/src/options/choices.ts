import type { WeightFormat } from "@vd/hub";

/** Every element type of weights and activations. */
export const PRECISIONS = ["float32", "float16", "bfloat16"] as const;

/** Element type of weights and activations. On the CPU activations are always float32. */
export type Precision = (typeof PRECISIONS)[number];

/** Every choice of layers in 8 bits, the default first. */
export const LAYER_PRECISIONS = ["full", "fp8", "int8", "mixed8"] as const;

/** Which layers are computed in 8 bits: `full` none; `fp8` and `int8` those that gain, in that type; `mixed8` each of them in the type that
 *  suits it. */
export type LayerPrecision = (typeof LAYER_PRECISIONS)[number];

/** Every way of computing 3x3 convolutions, the default first. */
export const CONVOLUTIONS = ["auto", "direct", "winograd"] as const;

/** How 3x3 convolutions of many channels are computed on a GPU in float16: `direct`, or with `winograd`'s transforms, a quarter of the
 *  products at about five times the rounding; `auto` takes as many of these in the UNet as fit into the memory, where they are faster. */
export type Convolutions = (typeof CONVOLUTIONS)[number];

/** How files name the precisions. */
export const WEIGHT_FORMATS: Readonly<Record<Precision, WeightFormat>> = {
  float32: "fp32",
  float16: "fp16",
  bfloat16: "bf16",
};

/** Every way of using a GPU's memory, the default first. */
export const MEMORY_USES = ["full", "low", "lowest"] as const;

/** How much of a GPU's memory a generation takes: `full` keeps weights there, `low` only those of the stage that runs, `lowest` streams them from
 *  the machine's memory where it must. The frames are the same. */
export type MemoryUse = (typeof MEMORY_USES)[number];

/** Which of torch's generators may give the noise of the steps, the default first. */
export const STEP_NOISES = ["cpu", "cuda"] as const;

/** One of {@link STEP_NOISES}. */
export type StepNoise = (typeof STEP_NOISES)[number];

/** What a generation may make, the default first. */
export const OUTPUT_TYPES = ["video", "latent"] as const;

/** One of {@link OUTPUT_TYPES}. */
export type OutputType = (typeof OUTPUT_TYPES)[number];

/** Every way of making frames between those that the model makes, the default first. */
export const INTERPOLATIONS = ["none", "blend", "latent", "denoise"] as const;

/** What makes a frame between every two: `blend` takes the mean of their pixels, `latent` the mean of their latents, which is
 *  decoded, `denoise` has the model make it, which knows the frames on both sides. */
export type Interpolation = (typeof INTERPOLATIONS)[number];
