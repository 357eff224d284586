import { type Device, type DeviceKind, VdError } from "@vd/kernels-native";
import {
  compile,
  type FrameChunks,
  frameChunks,
  type PausableModule,
  type Plan,
  runInSlices,
  type Tensor,
} from "@vd/tensor";
import { checkResults, checkSize, checkValues, type VideoFrames, type VideoLatents } from "../autoencoder/checks";
import { StageRuns } from "../autoencoder/stage-runs";
import { checkCallOptions, deviceOf, type OptionKinds } from "../call-options";
import type { VaeStage } from "../decoding/stages";
import { checkPrecision, PRECISIONS, type VaePrecision } from "../optimization/switches";
import { type FrameMode, tinyDecoder, tinyEncoder } from "./model";
import { openTiny, type TinyComponents, type TinyHalf } from "./open";

/** How to open a tiny autoencoder. */
export interface OpenTinyOptions {
  /** What computes: `cpu` (default), `cuda`, or an open device. */
  device?: DeviceKind | Device | undefined;
  /** Type of activations. Default: float16 on a GPU, float32 on the CPU. */
  precision?: VaePrecision | undefined;
}

/** What calls of a tiny autoencoder take. */
export interface TinyCallOptions {
  /** Frames at a time. Default: all. A frame sees the one before it, whatever the number. */
  chunkFrames?: number | undefined;
  signal?: AbortSignal | undefined;
}

const OPEN_OPTIONS: OptionKinds = { device: "any", precision: "any" };
const CALL_OPTIONS: OptionKinds = { chunkFrames: "any", signal: "signal" };

/** Channels at both ends of a half, and by how much a picture is larger than its latents. */
interface HalfSizes {
  latentChannels: number;
  factor: number;
}

function sizesOf(half: TinyHalf, latentEnd: "first" | "last"): HalfSizes {
  const { layers } = half;
  const end = latentEnd === "first" ? layers[0]!.cin : layers[layers.length - 1]!.cout;
  return { latentChannels: end, factor: 2 ** layers.filter(({ kind }) => kind === "resample").length };
}

/** Decodes frames one by one, each knowing the ones before. */
export interface TinyStream {
  /** latents: [C,h,w] → the frame, [H,W,3] in about [-1,1]. Calls before it has resolved wait for their turn.
   *  @throws VdError as `decode` */
  next(latents: Float32Array): Promise<Float32Array>;
  /** Ends the stream once calls under way are done. */
  close(): Promise<void>;
}

/**
 * TAESD (pictures) or TAESDV (videos: each frame sees the one before): a decoder of some million weights for previews and
 * few-step generation, and its encoder. Latents are scaled as denoisers have them. Weights are not part of this package.
 *
 * @example
 * ```ts
 * import { TinyAutoencoder } from "@vd/vae-opt";
 *
 * const tiny = await TinyAutoencoder.fromPretrained("taesdv.safetensors");
 * const frames = await tiny.decode({ numFrames: 2, width: 8, height: 8, data: new Float32Array(2 * 4 * 8 * 8) });
 * console.log(frames.width, frames.height); // 64 64
 * await tiny.close();
 * ```
 */
export class TinyAutoencoder {
  private readonly decodeModule: PausableModule<[z: Tensor, mode?: FrameMode]> | undefined;
  private readonly encodeModule: PausableModule | undefined;
  readonly precision: VaePrecision;
  private isClosed = false;

  private constructor(
    private readonly components: TinyComponents,
    readonly device: Device,
    { precision }: OpenTinyOptions,
  ) {
    const { decoder, encoder } = components;
    this.decodeModule = decoder && tinyDecoder(decoder.weights, decoder.layers);
    this.encodeModule = encoder && tinyEncoder(encoder.weights, encoder.layers);
    for (const half of [decoder, encoder]) half?.weights.expectAllUsed((name) => /^\d+\.skip\.bias$/.test(name));
    this.precision = device.kind === "cpu" ? "float32" : (precision ?? "float16");
  }

  /**
   * Opens taesdv.safetensors, taesd_decoder.safetensors, taesd_encoder.safetensors, a folder with both, or one of diffusers'
   * AutoencoderTiny.
   *
   * @throws VdError `io` where there are no weights, saying where to get them; `weights` for another layout, `unsupported`
   */
  static async fromPretrained(source: string, options: OpenTinyOptions = {}): Promise<TinyAutoencoder> {
    checkCallOptions("fromPretrained", options, OPEN_OPTIONS);
    const { device = "cpu", precision } = options;
    if (precision !== undefined) checkPrecision("precision", precision);
    const components = await openTiny(source);
    return new TinyAutoencoder(components, deviceOf(device), options);
  }

  /** True if frames see those before them. */
  get seesFrames(): boolean {
    return this.components.decoder?.layers.some((layer) => layer.kind === "block" && layer.memory) ?? false;
  }

  /**
   * Decodes latents to frames in about [-1,1].
   *
   * @throws VdError `shape`, `dtype` or `attr` for latents that cannot be decoded, `unsupported` without a decoder, `memory`,
   *   `cancelled`
   */
  async decode(latents: VideoLatents, options: TinyCallOptions = {}): Promise<VideoFrames> {
    checkCallOptions("decode", options, CALL_OPTIONS);
    this.checkOpen("decode");
    const { chunkFrames, signal } = options;
    const { latentChannels, factor } = sizesOf(this.half("decoder"), "first");
    const { numFrames, height: h, width: w } = checkedSize(latents);
    const dims = [numFrames, latentChannels, h, w];
    await runInSlices(checkValues.inPieces("decode] [data", latents.data, dims, "latent"), {
      ...{ signal, where: "decode" },
    });
    const size = { numFrames, height: h * factor, width: w * factor };
    const data = new Float32Array(numFrames * size.height * size.width * 3);
    const [perFrame, framePixels] = [latentChannels * h * w, size.height * size.width * 3];
    // A chunk begins with the frames that its own first frame can see, so that chunks are as the whole.
    for (const [begin, end] of chunksOf(numFrames, chunkFrames)) {
      const from = Math.max(begin - this.reach, 0);
      const part = latents.data.subarray(from * perFrame, end * perFrame);
      const frames = await this.run(
        this.decodeStage([end - from, latentChannels, h, w]),
        "latents",
        part,
        "frames",
        signal,
      );
      data.set(frames.subarray((begin - from) * framePixels), begin * framePixels);
    }
    await runInSlices(checkResults.inPieces("decode", data, [numFrames, framePixels], this.dtype), { signal });
    return { ...size, data };
  }

  /**
   * Encodes frames to latents [F,C,h,w].
   *
   * @throws VdError as {@link decode}
   */
  async encode(video: VideoFrames, options: TinyCallOptions = {}): Promise<VideoLatents> {
    checkCallOptions("encode", options, CALL_OPTIONS);
    this.checkOpen("encode");
    const { chunkFrames, signal } = options;
    const { latentChannels, factor } = sizesOf(this.half("encoder"), "last");
    const { numFrames, height, width } = checkedSize(video);
    for (const [side, size] of [
      ["width", width],
      ["height", height],
    ] as const)
      if (size % factor !== 0)
        throw new VdError({ code: "shape", where: side, expected: `a multiple of ${factor}`, got: String(size) });
    await runInSlices(checkValues.inPieces("encode] [data", video.data, [numFrames, height, width, 3], "picture"), {
      ...{ signal, where: "encode" },
    });
    const [h, w] = [height / factor, width / factor];
    const data = new Float32Array(numFrames * latentChannels * h * w);
    const framePixels = height * width * 3;
    for (const [begin, end] of chunksOf(numFrames, chunkFrames)) {
      const part = video.data.subarray(begin * framePixels, end * framePixels);
      const stage = this.encodeStage([end - begin, height, width]);
      data.set(await this.run(stage, "pixels", part, "latents", signal), begin * latentChannels * h * w);
    }
    await runInSlices(checkResults.inPieces("encode", data, [numFrames, latentChannels, h, w], this.dtype), { signal });
    return { numFrames, height: h, width: w, data };
  }

  /**
   * Opens a stream of frames of one size: for real time, one frame after the other in bounded memory.
   *
   * @throws VdError `shape`, `unsupported` without a decoder, `memory`
   */
  async stream(size: { width: number; height: number }): Promise<TinyStream> {
    this.checkOpen("stream");
    const { latentChannels } = sizesOf(this.half("decoder"), "first");
    const dims = [1, latentChannels, checkSize("height", size?.height), checkSize("width", size?.width)] as const;
    const { dtype } = this;
    const plan = await compile(this.device, this.decodeStage(dims, "stream").build, { dtype });
    const decodeNext = async (latents: Float32Array): Promise<Float32Array> => {
      checkValues("next", latents, dims, "latent");
      await plan.write("latents", latents);
      await plan.run();
      const frame = await plan.read("frames");
      return checkResults("next", frame, [1, frame.length], dtype);
    };
    // One frame after the other, in the order of the calls: they share the plan and what it remembers.
    let last: Promise<unknown> = Promise.resolve();
    let closing: Promise<void> | undefined;
    return {
      next(latents) {
        if (closing) {
          const [expected, got] = ["an open stream", "one that was closed"];
          return Promise.reject(new VdError({ code: "unsupported", where: "next", expected, got }));
        }
        const frame = last.then(() => decodeNext(latents));
        last = frame.catch(() => undefined);
        return frame;
      },
      close() {
        closing ??= last.then(() => plan.free());
        return closing;
      },
    };
  }

  /** Ends the use of the autoencoder and lets go of weights on the device. Streams end with their own `close`. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.device.trim();
  }

  /** Does what {@link close} does: for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private checkOpen(where: string): void {
    if (!this.isClosed) return;
    const [expected, got] = ["an open autoencoder", "one that was closed"];
    throw new VdError({ code: "unsupported", where, expected, got });
  }

  /** Frames before a frame that reach into it: one for each block with memory. */
  private get reach(): number {
    return this.components.decoder?.layers.filter((layer) => layer.kind === "block" && layer.memory).length ?? 0;
  }

  private get dtype() {
    return PRECISIONS[this.precision];
  }

  private half(name: "encoder" | "decoder"): TinyHalf {
    const half = this.components[name];
    if (half) return half;
    const { source } = this.components;
    const hint = `TAESD keeps it in a file of its own: give the folder with taesd_${name}.safetensors.`;
    throw new VdError({
      code: "unsupported",
      where: source,
      expected: `weights of the ${name}`,
      got: "the other half",
      hint,
    });
  }

  private decodeStage([f, c, h, w]: readonly [number, number, number, number], mode: FrameMode = "clip"): VaeStage {
    const decode = this.decodeModule!;
    return {
      name: "tiny decode",
      key: `tiny decode ${f} ${h}x${w} ${mode}`,
      dtype: this.dtype,
      *build(g) {
        const planes = g.input("latents", [1, f, c, h, w], "f32");
        const z = g.layoutIn({ name: "latents", x: planes, out: g.empty([1, f, h, w, c]) });
        g.output("frames", yield* decode.inPieces(g, z, mode));
      },
    };
  }

  private encodeStage([f, height, width]: readonly [number, number, number]): VaeStage {
    const encode = this.encodeModule!;
    return {
      name: "tiny encode",
      key: `tiny encode ${f} ${height}x${width}`,
      dtype: this.dtype,
      *build(g) {
        const x = g.input("pixels", [1, f, height, width, 3]);
        const z = yield* encode.inPieces(g, x);
        const [b, n, h, w, c] = z.dims as [number, number, number, number, number];
        g.output("latents", g.layoutOut({ name: "latents", x: z, out: g.empty([b, n, c, h, w], "f32") }));
      },
    };
  }

  private run(
    stage: VaeStage,
    input: string,
    data: Float32Array,
    output: string,
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    const { device, components } = this;
    const runs = new StageRuns({ device, files: components.files, signal, tuningFor: async () => undefined });
    return runs.run(stage, async (plan: Plan) => {
      await plan.write(input, data);
      await plan.run({ signal });
      return plan.read(output);
    });
  }
}

/** Runs of frames, all at once where nothing is said. @throws VdError `attr` */
function chunksOf(numFrames: number, chunkFrames: number = numFrames): FrameChunks {
  if (Number.isInteger(chunkFrames) && chunkFrames >= 1) return frameChunks(numFrames, chunkFrames);
  const expected = "a whole number from 1";
  throw new VdError({ code: "attr", where: "chunkFrames", expected, got: String(chunkFrames) });
}

function checkedSize(given: Omit<VideoLatents, "data">): { numFrames: number; height: number; width: number } {
  const [numFrames, height, width] = [given?.numFrames, given?.height, given?.width].map((size, i) =>
    checkSize(["numFrames", "height", "width"][i]!, size),
  ) as [number, number, number];
  return { numFrames, height, width };
}
