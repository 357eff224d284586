import { type Device, type DeviceKind, type DType, throwIfAborted, VdError } from "@vd/kernels-native";
import { runInSlices, type Weights } from "@vd/tensor";
import { checkCallOptions, deviceOf, type OptionKinds } from "../call-options";
import { type Posterior, posterior, posteriorMode, splitMoments, withSample } from "../posterior";
import { type Clip, joinClips, takePieces } from "./clip";
import { type CausalVaeConfig, checkCausalVaeConfig, frameFactor, pictureFactor, SEEDVR2_VAE_CONFIG } from "./config";
import { DirectionSessions } from "./direction-sessions";
import { type CausalVideoVae, causalVideoVae } from "./model";
import { openWeights } from "./open";
import type { Direction } from "./piece-layout";
import {
  type CausalVaePlan,
  checkRequest,
  type PlanRequest,
  planDirection,
  type StreamPlan,
  spareBytes,
  spareHostBytes,
} from "./planning";
import { randomCausalVaeWeights } from "./random-weights";
import { type ClipSource, isClip, runStream } from "./stream";
import { WholeResult } from "./whole-result";

/** How the autoencoder is opened. */
export interface CausalVaeOptions {
  /** A device, or the kind of one to open; default `cpu`. */
  device?: Device | DeviceKind;
  /** Type of what layers compute. Default: float32 on the CPU, which has no other, and float16 on a GPU. Weights may be
   *  stored in any type. */
  dtype?: "float32" | "float16" | "bfloat16";
  /** Default: what the folder's config.json says; without one the published model's. */
  config?: CausalVaeConfig;
  /** Memory that one direction may take, its weights included; default: what the device has to spare. More is never planned. */
  maxBytes?: number;
  signal?: AbortSignal;
}

/** How a clip is decoded. */
export interface DecodeStreamOptions {
  /** Stops before the next layer. */
  signal?: AbortSignal | undefined;
  /** How to cut the work; default: what {@link CausalVideoAutoencoder.plan} finds for the clip's size. */
  plan?: StreamPlan | undefined;
}

/** How a clip is encoded. */
export interface EncodeStreamOptions extends DecodeStreamOptions {
  /** What becomes of last frames that are too few for a latent: filled up with copies of the last one, which is the default,
   *  or dropped, as the reference's encoder does. */
  lastFrames?: "repeat" | "drop" | undefined;
  /** Draws so many normal numbers, for latents that are sampled; without, they are the most likely ones. */
  noise?: ((count: number) => ArrayLike<number>) | undefined;
}

/** What encoding gives. */
export interface EncodedClip extends Posterior, Clip {
  /** The most likely latents, `mode`: so what encoding gives is a clip that can be decoded. */
  values: Float32Array;
  /** Of `values`, `mode`, `std` and samples: [frames,height,width,channels]. */
  dims: Clip["dims"];
}

const TYPES = { float32: "f32", float16: "f16", bfloat16: "bf16" } as const satisfies Record<string, DType>;

const OPEN_OPTIONS: OptionKinds = {
  ...{ device: "any", dtype: "any", config: "any", maxBytes: "any", signal: "signal", seed: "any" },
};
/** What encoding and decoding take, so that one object of options serves both. */
const STREAM_OPTIONS: OptionKinds = { signal: "signal", plan: "any", lastFrames: "any", noise: "function" };

function chooseType(device: Device, dtype: CausalVaeOptions["dtype"]): DType {
  const chosen = dtype ?? (device.kind === "cpu" ? "float32" : "float16");
  if (!Object.hasOwn(TYPES, chosen))
    throw new VdError({ code: "attr", where: "dtype", expected: Object.keys(TYPES).join(", "), got: String(chosen) });
  if (device.kind === "cpu" && chosen !== "float32")
    throw new VdError({
      ...{ code: "unsupported", where: "dtype", expected: "float32 on the CPU", got: chosen },
      hint: "Weights stored in half precision are read as they are; only what layers compute is float32.",
    });
  return TYPES[chosen];
}

/** Joins all pieces: a caller without types has given pieces, or what the stream refuses. */
async function joinAll(pieces: AsyncGenerator<Clip, void, void>): Promise<Clip> {
  const all: Clip[] = [];
  for await (const piece of pieces) all.push(piece);
  return joinClips(all);
}

/** Splits the moments of a clip's `numLatents` latents piece by piece, while the next one is computed. */
async function collectPosterior(
  pieces: AsyncGenerator<Clip, void, void>,
  channels: number,
  numLatents: number,
): Promise<EncodedClip> {
  let found: { mode: Float32Array; std: Float32Array; sides: readonly [height: number, width: number] } | undefined;
  let at = 0;
  await takePieces(pieces, async ({ values, dims: [latents, height, width] }) => {
    const count = values.length / 2;
    const make = () => new Float32Array((numLatents / latents) * count);
    found ??= { mode: make(), std: make(), sides: [height, width] };
    const place = { mode: found.mode.subarray(at, at + count), std: found.std.subarray(at, at + count) };
    await runInSlices(splitMoments.inPieces(values, channels, place));
    at += count;
  });
  const { mode, std, sides } = found!;
  return { ...withSample({ mode, std }), values: mode, dims: [numLatents, ...sides, channels] };
}

/**
 * SeedVR2's causal video autoencoder on a device: clips of any length to latents and back, in memory that does not grow with
 * the length. One latent stands for the first frame, each further one for four frames; height and width shrink by eight.
 *
 * @example
 * ```ts
 * import { CausalVideoAutoencoder } from "@vd/vae-opt";
 *
 * const vae = await CausalVideoAutoencoder.fromPretrained("ema_vae_fp16.safetensors");
 * const frames = { values: new Float32Array(5 * 64 * 64 * 3), dims: [5, 64, 64, 3] as const }; // grey, in [-1,1]
 * const latents = await vae.encode(frames); // 2 x 8 x 8 x 16
 * for await (const piece of vae.decodeStream(latents)) console.log(piece.dims);
 * await vae.close();
 * ```
 */
export class CausalVideoAutoencoder {
  private readonly encoding: DirectionSessions;
  private readonly decoding: DirectionSessions;
  private closed = false;

  private constructor(
    readonly model: CausalVideoVae,
    readonly device: Device,
    /** Element type of activations. */
    readonly dtype: DType,
    private readonly maxBytes: number | undefined,
  ) {
    const makeRoom = (direction: Direction, plan: Pick<StreamPlan, "bytes" | "hostBytes">) =>
      this.makeRoom(direction, plan);
    const resources = { model, device, dtype, isClosed: () => this.closed, makeRoom };
    this.encoding = new DirectionSessions("encode", resources);
    this.decoding = new DirectionSessions("decode", resources);
  }

  get config(): CausalVaeConfig {
    return this.model.config;
  }

  /**
   * Opens a .safetensors file, or a folder with one and perhaps a config.json.
   *
   * @throws VdError `io` or `weights` for files that cannot be read or do not fit, `unsupported` for a device or type that
   *   this machine does not have, `cancelled`
   */
  static async fromPretrained(path: string, options: CausalVaeOptions = {}): Promise<CausalVideoAutoencoder> {
    checkCallOptions("fromPretrained", options, OPEN_OPTIONS);
    const { weights, config } = await openWeights(path, options);
    return CausalVideoAutoencoder.fromWeights(weights, config, options);
  }

  /**
   * Makes the autoencoder from weights that are open already, such as random ones for a measurement.
   *
   * @throws VdError `weights` naming the first key that does not fit, `unsupported`, `cancelled`
   */
  static async fromWeights(
    weights: Weights,
    config: CausalVaeConfig,
    options: Omit<CausalVaeOptions, "config"> = {},
  ): Promise<CausalVideoAutoencoder> {
    checkCallOptions("fromWeights", options, OPEN_OPTIONS);
    const { device: wanted = "cpu", dtype, maxBytes, signal } = options;
    if (maxBytes !== undefined && !(typeof maxBytes === "number" && maxBytes > 0))
      throw new VdError({ code: "attr", where: "maxBytes", expected: "a positive number", got: String(maxBytes) });
    checkCausalVaeConfig(config);
    throwIfAborted(signal, "opening the autoencoder");
    const device = deviceOf(wanted);
    const type = chooseType(device, dtype);
    const model = await runInSlices(causalVideoVae.inPieces(weights, config), {
      signal,
      where: "opening the autoencoder",
    });
    return new CausalVideoAutoencoder(model, device, type, maxBytes);
  }

  /**
   * Makes an autoencoder of random weights, for measurements; its frames are noise. seed: the same gives the same weights.
   *
   * @throws VdError `unsupported`, `cancelled`
   */
  static async withRandomWeights(options: CausalVaeOptions & { seed?: number } = {}): Promise<CausalVideoAutoencoder> {
    checkCallOptions("withRandomWeights", options, OPEN_OPTIONS);
    const { config = SEEDVR2_VAE_CONFIG, seed, ...rest } = options;
    checkCausalVaeConfig(config);
    const where = "making random weights";
    const weights = await runInSlices(randomCausalVaeWeights.inPieces(config, seed), { signal: rest.signal, where });
    return CausalVideoAutoencoder.fromWeights(weights, config, rest);
  }

  /**
   * Finds how to cut the work on frames of `height` × `width` pixels so that each direction stays within `maxBytes`, its
   * weights included: over time first, which changes nothing; into strips of the picture, which takes more time, only if that is not enough.
   *
   * @throws VdError `memory` if even the smallest strips take more, `shape`, `attr`, `cancelled`
   */
  async plan(request: PlanRequest): Promise<CausalVaePlan> {
    checkRequest(request, pictureFactor(this.config));
    const { maxBytes = await this.budget() } = request;
    const planOf = (direction: Direction) =>
      planDirection(direction, this, { ...request, maxBytes, idleHostBytes: this.idleHostBytes });
    return { encode: await planOf("encode"), decode: await planOf("decode") };
  }

  /**
   * Encodes a clip. frames: [F,H,W,3] in [-1,1], H and W multiples of 8 → the latents' distribution,
   * [⌈(F−1)/4⌉+1,H/8,W/8,16]. Nothing is drawn here: the result's own `sample` takes noise, and `noise` among the options is
   * for {@link encodeStream} alone.
   *
   * @throws VdError `shape`, `dtype` or `attr` for frames that are not, `memory`, `cancelled`, `weights` if results are not
   *   finite
   */
  async encode(frames: Clip, options: Omit<EncodeStreamOptions, "noise"> = {}): Promise<EncodedClip> {
    const pieces = this.momentsOf(frames, options);
    const channels = this.config.latentChannels;
    if (isClip(frames)) return collectPosterior(pieces, channels, this.latentsOf(frames.dims[0], options));
    const { values, dims } = await joinAll(pieces);
    const found = posterior(values, channels);
    return { ...found, values: found.mode, dims: [dims[0], dims[1], dims[2], channels] };
  }

  /**
   * Encodes a clip of any length, given whole or in pieces of any lengths, and yields latents as soon as they are computed,
   * [f,H/8,W/8,16] each.
   *
   * @throws VdError as {@link encode}
   */
  async *encodeStream(frames: ClipSource, options: EncodeStreamOptions = {}): AsyncGenerator<Clip, void, void> {
    checkCallOptions("encode", options, STREAM_OPTIONS);
    const { latentChannels } = this.config;
    const { noise } = options;
    for await (const { values, dims } of this.momentsOf(frames, options)) {
      const latents = noise
        ? posterior(values, latentChannels).sample(noise(values.length / 2))
        : await runInSlices(posteriorMode.inPieces(values, latentChannels));
      yield { values: latents, dims: [dims[0], dims[1], dims[2], latentChannels] };
    }
  }

  /**
   * Decodes a clip. latents: [F,h,w,16] as encoding gives them, not times `config.scalingFactor` → frames in about [-1,1],
   * [4·(F−1)+1,8h,8w,3].
   *
   * @throws VdError as {@link encode}
   */
  async decode(latents: Clip, options: DecodeStreamOptions = {}): Promise<Clip> {
    if (!isClip(latents)) return joinAll(this.decodeStream(latents, options));
    const whole = new WholeResult();
    for await (const _ of this.framesOf(latents, options, whole)); // Each lies in its place.
    return whole.clip;
  }

  /**
   * Decodes a clip of any length, given whole or in pieces of any lengths, and yields frames as soon as they are computed,
   * [f,8h,8w,3] each.
   *
   * @throws VdError as {@link encode}
   */
  decodeStream(latents: ClipSource, options: DecodeStreamOptions = {}): AsyncGenerator<Clip, void, void> {
    return this.framesOf(latents, options);
  }

  /** Lets go of the device's memory; streams that are under way end with an error. */
  async close(): Promise<void> {
    this.closed = true;
    await this.encoding.close();
    await this.decoding.close();
    await this.device.trim();
  }

  /** Does what {@link close} does: for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** whole: takes the frames of a clip that is given whole. */
  private framesOf(
    latents: ClipSource,
    options: DecodeStreamOptions,
    whole?: WholeResult,
  ): AsyncGenerator<Clip, void, void> {
    checkCallOptions("decode", options, STREAM_OPTIONS);
    return runStream(latents, this.decoding, {
      ...options,
      unit: 1,
      incomplete: "drop",
      rule: {
        ...{ where: "decode", what: "latents", channels: this.config.latentChannels, multiple: 1, most: 100 },
        hint: "Latents are about ±5; a transformer's are divided by config.scalingFactor first.",
      },
      planFor: (height, width) => this.planOne("decode", height, width),
      whole,
    });
  }

  private momentsOf(frames: ClipSource, options: EncodeStreamOptions): AsyncGenerator<Clip, void, void> {
    checkCallOptions("encode", options, STREAM_OPTIONS);
    const { lastFrames = "repeat", ...rest } = options;
    if (lastFrames !== "repeat" && lastFrames !== "drop")
      throw new VdError({ code: "attr", where: "lastFrames", expected: "repeat or drop", got: String(lastFrames) });
    return runStream(frames, this.encoding, {
      ...rest,
      unit: frameFactor(this.config),
      incomplete: lastFrames,
      rule: {
        ...{ where: "encode", what: "frames", channels: this.config.inChannels, multiple: pictureFactor(this.config) },
        ...{ most: 8, hint: "Frames are in [-1,1]: levels of 8 bits are divided by 127.5, less 1." },
      },
      planFor: (height, width) => {
        const factor = pictureFactor(this.config);
        return this.planOne("encode", height / factor, width / factor);
      },
    });
  }

  /** Latents of a clip of so many frames. */
  private latentsOf(numFrames: number, { lastFrames }: EncodeStreamOptions): number {
    const latents = (numFrames - 1) / frameFactor(this.config);
    return 1 + (lastFrames === "drop" ? Math.floor(latents) : Math.ceil(latents));
  }

  /** What one direction may take: the other's idle sessions make room for it. */
  private async budget(): Promise<number> {
    if (this.maxBytes !== undefined) return this.maxBytes;
    return (await spareBytes(this.device)) + this.encoding.idleBytes + this.decoding.idleBytes;
  }

  private get idleHostBytes(): number {
    return this.encoding.idleHostBytes + this.decoding.idleHostBytes;
  }

  private async makeRoom(direction: Direction, plan: Pick<StreamPlan, "bytes" | "hostBytes">): Promise<void> {
    const [own, other] = direction === "encode" ? [this.encoding, this.decoding] : [this.decoding, this.encoding];
    if (other.idleBytes > 0 && plan.bytes + other.idleBytes > (await this.budget())) await other.free();
    if (other.idleHostBytes > 0 && plan.hostBytes > spareHostBytes() + own.idleHostBytes) await other.freeHost();
  }

  /** height, width: of latents. */
  private async planOne(direction: Direction, height: number, width: number): Promise<StreamPlan> {
    const factor = pictureFactor(this.config);
    const size = { height: height * factor, width: width * factor };
    const { idleHostBytes } = this;
    return planDirection(direction, this, { ...size, maxBytes: await this.budget(), idleHostBytes });
  }
}
