import { type Device, openDevice, VdError } from "@vd/kernels-native";
import type { ModelComponents } from "../opening/components";
import type { Models } from "../opening/models";
import type { StageShape } from "../stages/definitions";
import { findDenoiser } from "./denoiser-registry";

/** One call of a denoiser. */
export interface DenoiserCall {
  /** Noisy latents, [F,C,h,w]. */
  latents: Float32Array;
  /** The step's preconditioning: a factor of the latents, and what the model is told of the noise level. */
  inputScale: number;
  timestep: number;
  signal?: AbortSignal | undefined;
}

/** A denoiser that is ready for the calls of one generation. */
export interface Denoiser {
  /**
   * Returns the guided prediction, [F,C,h,w].
   *
   * @throws VdError
   */
  predict(call: DenoiserCall): Promise<Float32Array>;
  /** Ends its use. */
  close(): Promise<void>;
}

/** What a generation tells a denoiser before its first call. */
export interface DenoiserRequest {
  components: ModelComponents;
  models: Models;
  /** Sizes; `rows` is 2 with guidance: the unconditional row, then the conditional one. */
  shape: StageShape;
  /** Of the picture, [D]; the unconditional row has zeros. */
  embedding: Float32Array;
  /** Latents of the picture, [h,w,C]; the unconditional row has zeros. */
  image: Float32Array;
  /** fps − 1, motion bucket, noise augmentation. */
  timeIds: readonly [number, number, number];
  /** Guidance per frame, or undefined without guidance. */
  guidance: Float32Array | undefined;
  signal?: AbortSignal | undefined;
  /** Says what takes long, for a log. */
  onMessage?: ((message: string) => void) | undefined;
}

/** Makes denoisers that run elsewhere than in this package's kernels, such as `onnxruntime()` and `tensorrt()` of
 *  @vd/tensorrt. */
export interface DenoiserFactory {
  readonly name: string;
  /** Called once when a model is opened: throws VdError if the denoiser cannot run here, or names the device whose own
   *  kernels are to denoise instead. */
  prepare(): Promise<DenoiserFallback | undefined>;
  /**
   * Called once per generation.
   *
   * @throws VdError
   */
  open(request: DenoiserRequest): Promise<Denoiser>;
}

/** This package's own kernels instead of the wanted denoiser. */
export interface DenoiserFallback {
  device: "cpu" | "cuda";
  /** Why, as a sentence. */
  reason: string;
}

/** What denoises: a denoiser that runs elsewhere, or own kernels on a device of their own. */
export type ChosenDenoiser = { kind: "elsewhere"; factory: DenoiserFactory } | { kind: "own"; device: Device };

function isFactory(value: unknown): value is DenoiserFactory {
  const { name, prepare, open } = (
    typeof value === "object" && value !== null ? value : {}
  ) as Partial<DenoiserFactory>;
  return typeof name === "string" && typeof prepare === "function" && typeof open === "function";
}

/**
 * Finds out what denoises. wanted: a registered name or a factory; undefined for own kernels on the model's device.
 * device: the model's; it serves own kernels of its kind.
 *
 * @throws VdError `attr` for a name that is not registered, `unsupported` for what cannot run here
 */
export async function chooseDenoiser(
  wanted: string | DenoiserFactory | undefined,
  device: Device,
  onMessage?: (message: string) => void,
): Promise<ChosenDenoiser | undefined> {
  if (wanted === undefined) return undefined;
  const factory = typeof wanted === "string" ? await findDenoiser(wanted) : wanted;
  if (!isFactory(factory))
    throw new VdError({
      code: "attr",
      where: "denoiser",
      expected: 'a name such as "onnxruntime", or an object with name, prepare and open',
      got: typeof factory,
    });
  const fallback = await factory.prepare();
  if (!fallback) return { kind: "elsewhere", factory };
  onMessage?.(`${factory.name}: ${fallback.reason} Own ${fallback.device} kernels denoise instead.`);
  return { kind: "own", device: device.kind === fallback.device ? device : openDevice(fallback.device) };
}
