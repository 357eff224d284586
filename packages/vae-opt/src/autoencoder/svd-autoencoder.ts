import { cancelledError, type Device, type DeviceKind, VdError } from "@vd/kernels-native";
import { type GraphLayout, runInSlices, type WorkObserver, withCallbacks } from "@vd/tensor";
import { checkCallOptions, deviceOf, type OptionKinds } from "../call-options";
import { checkPieces } from "../decoding/check-pieces";
import { type DecodePieces, describePieces } from "../decoding/pieces";
import { smallerPieces } from "../decoding/smaller-pieces";
import { type DecodeShape, spatialBytesOf } from "../decoding/stages";
import { checkMemoryUse, type MemoryUse, spareBytes } from "../decoding/usable-memory";
import { OptimizableModel } from "../optimization/optimizable-model";
import { rewriteOf } from "../optimization/rewrite";
import { checkPrecision, PRECISIONS, type VaePrecision } from "../optimization/switches";
import { spatialFactor, type VaeConfig } from "../temporal-decoder/config";
import { type TemporalVae, temporalVae } from "../temporal-decoder/vae";
import { orAborted } from "../until-aborted";
import { checkFinite, checkSize, checkValues, type VideoFrames, type VideoLatents } from "./checks";
import { type DecodeRequest, decodePieces } from "./decode";
import { encodeFrames } from "./encode";
import { openVae, openVaeFile, type VaeComponents, type VaeSourceOptions } from "./open";
import { choosePieces, type DecodePlanRequest, type PlannedDecode } from "./plan";
import { type KnownStages, StageRuns } from "./stage-runs";

/** How to open an autoencoder. */
export interface OpenVaeOptions extends VaeSourceOptions {
  /** What computes: `cpu` (default), `cuda`, or an open device. */
  device?: DeviceKind | Device | undefined;
  /** How much of a GPU's memory to take where a call does not say: at most 10 GiB (`full`, default), 6 GiB (`low`) or 3.9 GiB (`lowest`). */
  memory?: MemoryUse | undefined;
  /** Hears of all work: a profiler. */
  observer?: WorkObserver | undefined;
}

/** What encoding and decoding have in common. */
export interface VaeCallOptions {
  /** Most bytes that a stage may take on the device, weights included. Default: what the device has left. */
  maxBytes?: number | undefined;
  /** False for latents as the autoencoder has them, without the scaling factor that denoisers want. Default true. */
  scaled?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Hears sentences about what was done otherwise than planned, such as smaller pieces for want of memory. */
  onNotice?: ((message: string) => void) | undefined;
}

/** How to encode. */
export interface EncodeClipOptions extends VaeCallOptions {
  /** `mode`: the most likely latents (default); `sample`: drawn from the encoder's Gaussian. */
  latents?: "mode" | "sample" | undefined;
  /** Of the noise of `sample`, as torch's CPU generator draws it. Default 0. */
  seed?: number | bigint | undefined;
  /** The noise of `sample` itself, [F,C,h,w]. */
  noise?: Float32Array | undefined;
  /** Type of activations for this call. Default: float32 where the configuration says `force_upcast`, else the model's. */
  precision?: VaePrecision | undefined;
}

/** How to decode. */
export interface DecodeClipOptions extends VaeCallOptions {
  /** The pieces that {@link SvdAutoencoder.plan} chose, or others. */
  pieces?: DecodePieces | undefined;
  /** Hears of finished parts. */
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Smaller pieces are tried as often after a device ran out of memory. */
const MOST_RETRIES = 8;

/** What `plan`, `encode` and `decode` take, so that one object of options serves all three. */
const CALL_OPTIONS: OptionKinds = {
  ...{ maxBytes: "any", scaled: "boolean", signal: "signal", onNotice: "function" },
  ...{ latents: "any", seed: "any", noise: "any", precision: "any" },
  ...{ pieces: "any", onProgress: "function" },
};

const OPEN_OPTIONS: OptionKinds = {
  ...{ device: "any", memory: "any", observer: "observer" },
  ...{ format: "any", hub: "any", signal: "signal", scalingFactor: "any" },
};

/**
 * Stable Video Diffusion's autoencoder, opened alone. One call at a time; further ones wait.
 *
 * A new one takes the plain path. {@link enableWindowsBlackwellOptimizations} turns everything on that the device has.
 *
 * @example
 * ```ts
 * import { SvdAutoencoder } from "@vd/vae-opt";
 *
 * const vae = await SvdAutoencoder.fromPretrained("models/tiny-svd");
 * vae.enableWindowsBlackwellOptimizations();
 * const video = { numFrames: 2, width: 64, height: 64, data: new Float32Array(2 * 64 * 64 * 3) };
 * const latents = await vae.encode(video);
 * console.log(latents.width, latents.height, (await vae.plan(latents, { maxBytes: 2 ** 30 })).message);
 * const frames = await vae.decode(latents);
 * console.log(frames.width, frames.height);
 * await vae.close();
 * ```
 */
export class SvdAutoencoder extends OptimizableModel {
  private readonly vae: TemporalVae;
  private queue: Promise<unknown> = Promise.resolve();
  private isClosed = false;
  /** What is known of the last decode's stages. */
  private known: { key: string; stages: KnownStages } = { key: "", stages: { memories: new Map() } };

  private constructor(
    private readonly components: VaeComponents,
    vae: TemporalVae,
    device: Device,
    private readonly options: OpenVaeOptions,
  ) {
    super(device);
    this.vae = vae;
  }

  private static async make(components: VaeComponents, options: OpenVaeOptions): Promise<SvdAutoencoder> {
    const { device = "cpu", signal, memory } = options;
    if (memory !== undefined) checkMemoryUse(memory);
    const opened = deviceOf(device);
    const recorded = temporalVae.inPieces(components.weights, components.config);
    const vae = await runInSlices(recorded, { signal, where: "opening the autoencoder" });
    return new SvdAutoencoder(components, vae, opened, options);
  }

  /**
   * Opens the autoencoder of a model's folder (its part `vae`), the autoencoder's own folder, a .safetensors file or a model of
   * the Hugging Face Hub. Weights are mapped, not read.
   *
   * @throws VdError `io`, `weights`, `unsupported`, `attr` or `cancelled`
   */
  static async fromPretrained(source: string, options: OpenVaeOptions = {}): Promise<SvdAutoencoder> {
    checkCallOptions("fromPretrained", options, OPEN_OPTIONS);
    return SvdAutoencoder.make(await openVae(source, options), options);
  }

  /**
   * Opens the autoencoder in one .safetensors file: a whole checkpoint with the original names, or a file of the folder
   * layout.
   *
   * @throws VdError as {@link fromPretrained}
   */
  static async fromSingleFile(path: string, options: OpenVaeOptions = {}): Promise<SvdAutoencoder> {
    checkCallOptions("fromSingleFile", options, OPEN_OPTIONS);
    return SvdAutoencoder.make(await openVaeFile(path, options), options);
  }

  get config(): VaeConfig {
    return this.components.config;
  }

  /** By how much latents are smaller than frames, along a side. */
  get factor(): number {
    return spatialFactor(this.config);
  }

  /**
   * Says how latents of a size will be decoded within a number of bytes: whole, over some frames at a time, or in tiles.
   * Nothing is computed.
   *
   * @param size of the latents
   * @throws VdError `memory` where even the smallest pieces take more, `shape`, `attr` for options that are none, `cancelled`
   */
  plan(size: Omit<VideoLatents, "data">, request: DecodePlanRequest = {}): Promise<PlannedDecode> {
    return this.inTurn("plan", request, async (taken) =>
      choosePieces(this.request(size, taken), await this.budget(taken)),
    );
  }

  /**
   * Encodes a video. Returns latents [F,C,h,w], times the scaling factor. The array of `video` must not change until then;
   * `options` may.
   *
   * @throws VdError `shape`, `dtype` or `attr` for frames that cannot be encoded, `memory`, `cancelled`
   */
  encode(video: VideoFrames, options: EncodeClipOptions = {}): Promise<VideoLatents> {
    return this.inTurn("encode", options, (taken) =>
      withCallbacks(taken, ["onNotice"], "encode", async (watched) => {
        const { numFrames, width, height } = this.checkedFrames(video);
        const dims = [numFrames, height, width, this.config.inChannels];
        await runInSlices(checkValues.inPieces("encode] [data", video.data, dims, "picture"), {
          ...{ signal: watched.signal, where: "encode" },
        });
        const switches = this.active;
        const precision = this.encodePrecision(watched.precision);
        const runs = this.runs(watched.signal);
        const job = { vae: this.vae, video, switches, dtype: PRECISIONS[precision], runs, options: watched };
        return encodeFrames({ ...job, budgetBytes: await this.budget(watched), rewrite: rewriteOf(switches) });
      }),
    );
  }

  /**
   * Decodes latents to frames in about [-1,1]. Falls back to smaller pieces where the device runs out of memory after all. The array of
   * `latents` must not change until then; `options` may.
   *
   * @throws VdError `shape`, `dtype` or `attr` for latents that cannot be decoded, `unsupported` for results that are not
   *   finite, `memory`, `cancelled`
   */
  decode(latents: VideoLatents, options: DecodeClipOptions = {}): Promise<VideoFrames> {
    return this.inTurn("decode", options, (taken) =>
      withCallbacks(taken, ["onNotice", "onProgress"], "decode", async (watched) => {
        const request = this.request(latents, watched);
        if (watched.pieces !== undefined) checkPieces(watched.pieces, this.vae);
        const { numFrames, height, width } = request.shape;
        const dims = [numFrames, this.config.latentChannels, height, width];
        const slices = { signal: watched.signal, where: "decode" };
        await runInSlices(checkValues.inPieces("decode] [data", latents.data, dims, "latent"), slices);
        const frames = await this.decodeOrSmaller(request, latents.data, watched);
        const size = { numFrames, width: width * this.factor, height: height * this.factor };
        const shape = [numFrames, size.height, size.width, this.config.outChannels];
        return { ...size, data: checkFinite("decode", frames, shape, request.shape.dtype) };
      }),
    );
  }

  /** Ends the use of the autoencoder once calls under way are done, and lets go of its weights on the device. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.queue.catch(() => undefined);
    this.known = { key: "", stages: { memories: new Map() } };
    await this.device.trim();
  }

  /** Does what {@link close} does: for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async decodeOrSmaller(request: DecodeRequest, data: Float32Array, options: DecodeClipOptions) {
    let pieces = options.pieces ?? (await choosePieces(request, await this.budget(options))).pieces;
    for (let attempt = 0; ; attempt++) {
      try {
        return await decodePieces(request, pieces, { data, options });
      } catch (error) {
        const smaller =
          request.runs.isMemoryError(error) && attempt < MOST_RETRIES ? await this.smaller(request, pieces) : undefined;
        if (!smaller) throw error;
        options.onNotice?.(
          `The device ran out of memory decoding ${describePieces(pieces)}; it goes on with ${describePieces(smaller)}.`,
        );
        pieces = smaller;
        await this.device.trim();
      }
    }
  }

  private smaller({ vae, shape, runs }: DecodeRequest, pieces: DecodePieces): Promise<DecodePieces | undefined> {
    return smallerPieces({ vae, shape, pieces, memoryOf: (stage) => runs.memoryOf(stage) });
  }

  /** A decode's shapes, recorded as the switches say. */
  private request(
    size: Omit<VideoLatents, "data">,
    { scaled = true, signal }: Pick<VaeCallOptions, "scaled" | "signal">,
  ): DecodeRequest {
    const switches = this.active;
    const shape: DecodeShape = {
      numFrames: checkSize("numFrames", size?.numFrames),
      height: checkSize("height", size?.height),
      width: checkSize("width", size?.width),
      dtype: PRECISIONS[switches.precision],
      latentScale: scaled ? undefined : 1,
      rewrite: rewriteOf(switches),
      spatialBytes: spatialBytesOf(this.device),
      fusedNorm: switches.fusedNorm,
    };
    const key = JSON.stringify([shape, switches]);
    if (this.known.key !== key) this.known = { key, stages: { memories: new Map() } };
    return { vae: this.vae, shape, runs: this.runs(signal, this.known.stages) };
  }

  private checkedFrames(video: VideoFrames): Omit<VideoFrames, "data"> {
    const numFrames = checkSize("numFrames", video?.numFrames);
    for (const side of ["width", "height"] as const) {
      const size = checkSize(side, video?.[side]);
      if (size % this.factor !== 0)
        throw new VdError({ code: "shape", where: side, expected: `a multiple of ${this.factor}`, got: String(size) });
    }
    return { numFrames, width: video.width, height: video.height };
  }

  private encodePrecision(asked: VaePrecision | undefined): VaePrecision {
    if (asked !== undefined) checkPrecision("encode] [precision", asked);
    if (this.device.kind === "cpu") return "float32";
    return asked ?? (this.config.forceUpcast ? "float32" : this.active.precision);
  }

  private async budget({ maxBytes }: { maxBytes?: number | undefined }): Promise<number> {
    if (maxBytes === undefined) return spareBytes(this.device, this.options.memory ?? "full");
    if (typeof maxBytes === "number" && maxBytes > 0) return maxBytes;
    throw new VdError({
      code: "attr",
      where: "maxBytes",
      expected: "a positive number of bytes",
      got: String(maxBytes),
    });
  }

  private runs(signal: AbortSignal | undefined, known?: KnownStages): StageRuns {
    const { device, components, options } = this;
    const tuningFor = (layout: GraphLayout) => this.tuningFor(layout, signal);
    return new StageRuns({ device, files: components.files, observer: options.observer, signal, tuningFor, known });
  }

  /** Runs `work` after what was called before, with the options as they are now. A call that is aborted while it waits for its
   *  turn ends at once. */
  private async inTurn<O extends VaeCallOptions, T>(
    where: string,
    options: O,
    work: (options: O) => Promise<T>,
  ): Promise<T> {
    if (this.isClosed)
      throw new VdError({ code: "unsupported", where, expected: "an open autoencoder", got: "one that was closed" });
    checkCallOptions(where, options, CALL_OPTIONS);
    const taken = { ...options };
    const { signal } = taken;
    const before = this.queue;
    const result = orAborted(before, signal, () => cancelledError(where, { signal })).then(() => work(taken));
    // Without the results: each would hold those of all calls before it, for as long as the autoencoder is open.
    this.queue = Promise.allSettled([before, result]).then(() => undefined);
    return result;
  }
}
