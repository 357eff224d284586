import { type DType, VdError } from "@vd/kernels-native";
import {
  CpuGenerator,
  channelRange,
  elementwise,
  frameChunks,
  type Graph,
  type Pausable,
  type Plan,
  pixels,
  pixelsToPlanes,
  planesToPixels,
  type RewriteCall,
  runInSlices,
  type Tensor,
  tokens,
} from "@vd/tensor";
import { inBinaryUnits } from "../binary-units";
import type { VaeStage } from "../decoding/stages";
import { LOG_VARIANCE_RANGE, posterior, posteriorMode } from "../posterior";
import { spatialFactor } from "../temporal-decoder/config";
import type { TemporalVae } from "../temporal-decoder/vae";
import { checkResults, checkValues, type VideoFrames, type VideoLatents } from "./checks";
import type { StageRuns } from "./stage-runs";

/** What encoding takes from its caller's options. */
interface EncodeOptions {
  latents?: "mode" | "sample" | undefined;
  seed?: number | bigint | undefined;
  noise?: Float32Array | undefined;
  scaled?: boolean | undefined;
  maxBytes?: number | undefined;
  signal?: AbortSignal | undefined;
  onNotice?: ((message: string) => void) | undefined;
}

/** An encode. */
export interface EncodeJob {
  vae: TemporalVae;
  video: VideoFrames;
  switches: { fusedReparameterization: boolean };
  /** Type of activations. */
  dtype: DType;
  runs: StageRuns;
  budgetBytes: number;
  options: EncodeOptions;
  rewrite: RewriteCall | undefined;
}

/** How latents leave the device: as moments, or drawn there. */
type Drawing = "host" | "mode" | "sample";

/** mean, or mean + deviation · noise, from moments. [N,1,h,w,2C] → [N,1,h,w,C]. */
function drawLatents(g: Graph, moments: Tensor, drawing: Drawing): Tensor {
  const [n, , h, w, channels] = moments.dims as [number, number, number, number, number];
  const half = channels / 2;
  const mean = channelRange(moments, 0, half);
  if (drawing === "mode") return mean;
  const noise = tokens(g.input("noise", [n, 1, h, w, half], "f32"));
  const variance = tokens(channelRange(moments, half, channels));
  const [low, high] = LOG_VARIANCE_RANGE;
  const out = tokens(g.empty([n, 1, h, w, half], "f32"));
  const sample = elementwise(
    g,
    (e) => e.add(tokens(mean), e.mul(e.exp(e.mul(e.min(e.max(variance, low), high), 0.5)), noise)),
    { name: "sample", out },
  );
  return pixels(sample, h, w);
}

/** Frames to latents. `pixels` [N,1,H,W,3] and for a sample `noise` [N,1,h,w,C] → `moments` [N,1,h,w,2C], or `latents`
 *  f32[N,1,C,h,w] times `scale`. */
function encodeStage(
  { vae, video, dtype, rewrite }: EncodeJob,
  { count, drawing, scale }: { count: number; drawing: Drawing; scale: number },
): VaeStage {
  return {
    name: "encode",
    key: `encode ${count} ${drawing} ${dtype}`,
    dtype,
    *build(g): Pausable<void> {
      if (rewrite) g.rewriteCalls(rewrite);
      const x = g.input("pixels", [count, 1, video.height, video.width, vae.config.inChannels]);
      const moments = yield* vae.encode.inPieces(g, x);
      if (drawing === "host") return g.output("moments", moments);
      const latents = drawLatents(g, moments, drawing);
      const [n, f, h, w, c] = latents.dims as [number, number, number, number, number];
      const out = g.empty([n, f, c, h, w], "f32");
      g.output("latents", g.layoutOut({ name: "latents", x: latents, scale: Math.fround(scale), out }));
    },
  };
}

/** The most frames at a time that fit. Frames do not see each other, so the latents are the same. Where one takes more than
 *  what the device should give, it is tried; a limit that the caller names is kept. @throws VdError `memory` */
async function chooseChunk(job: EncodeJob, drawing: Drawing, budgetBytes: number): Promise<number> {
  const { video, runs } = job;
  const bytesAt = (count: number) => runs.bytesOf(encodeStage(job, { count, drawing, scale: 1 }));
  const one = await bytesAt(1);
  const { maxBytes } = job.options;
  if (maxBytes !== undefined && one > maxBytes)
    throw new VdError({
      code: "memory",
      where: "encode",
      expected: `an encode that fits into ${inBinaryUnits(maxBytes)}`,
      got: `${inBinaryUnits(one)} for one frame of ${video.width}×${video.height}`,
      hint: "Give more memory, or encode smaller pictures.",
    });
  if (video.numFrames === 1 || one > budgetBytes) return 1;
  const perFrame = Math.max((await bytesAt(2)) - one, 1);
  return Math.min(video.numFrames, 1 + Math.floor((budgetBytes - one) / perFrame));
}

/** The noise of a sample, [F,C,h,w]. */
async function noiseOf({ options, vae, video }: EncodeJob): Promise<Float32Array> {
  const factor = spatialFactor(vae.config);
  const dims = [video.numFrames, vae.config.latentChannels, video.height / factor, video.width / factor];
  const { noise, seed = 0, signal } = options;
  if (noise !== undefined)
    return runInSlices(checkValues.inPieces("encode] [noise", noise, dims, "latent"), { signal });
  return new CpuGenerator(seed).randn(dims.reduce((count, dim) => count * dim, 1));
}

/** What one chunk of frames becomes, [f,C,h,w]. */
async function readLatents(job: EncodeJob, plan: Plan, noise: Float32Array | undefined, scale: number, count: number) {
  const { vae, video, options } = job;
  if (plan.layout.graph.outputs.has("latents")) return plan.read("latents");
  const { latentChannels } = vae.config;
  const factor = spatialFactor(vae.config);
  const dims = [count, latentChannels, video.height / factor, video.width / factor] as const;
  const moments = await plan.read("moments");
  const drawn = noise
    ? posterior(moments, latentChannels).sample(noise)
    : await runInSlices(posteriorMode.inPieces(moments, latentChannels), { signal: options.signal });
  const planes = await runInSlices(pixelsToPlanes.inPieces(drawn, dims, new Float32Array(drawn.length)));
  return planes.map((value) => Math.fround(value * Math.fround(scale)));
}

async function encodeBy(job: EncodeJob, chunk: number, drawing: Drawing, noise: Float32Array | undefined) {
  const { vae, video, runs, options } = job;
  const { signal } = options;
  const { config } = vae;
  const factor = spatialFactor(config);
  const [h, w] = [video.height / factor, video.width / factor];
  const [framePixels, frameLatents] = [video.height * video.width * config.inChannels, h * w * config.latentChannels];
  const data = new Float32Array(video.numFrames * frameLatents);
  const scale = options.scaled === false ? 1 : config.scalingFactor;
  const chunks = frameChunks(video.numFrames, chunk);
  for (const count of new Set(chunks.map(([begin, end]) => end - begin)))
    await runs.run(encodeStage(job, { count, drawing, scale }), async (plan) => {
      for (const [begin, end] of chunks.filter(([from, to]) => to - from === count)) {
        await plan.write("pixels", video.data.subarray(begin * framePixels, end * framePixels));
        const dims = [count, config.latentChannels, h, w] as const;
        const planes = noise?.subarray(begin * frameLatents, end * frameLatents);
        const own =
          planes && (await runInSlices(planesToPixels.inPieces(planes, dims, new Float32Array(planes.length))));
        if (own && drawing === "sample") await plan.write("noise", own);
        await plan.run({ signal });
        data.set(await readLatents(job, plan, own, scale, count), begin * frameLatents);
      }
    });
  return { numFrames: video.numFrames, height: h, width: w, data };
}

/** Encodes frames to latents, over as many at a time as fit; over fewer where the device runs out of memory after all.
 *  @throws VdError `attr` for another kind of latents, `memory`, `cancelled`, `unsupported` for latents that are not finite */
export async function encodeFrames(job: EncodeJob): Promise<VideoLatents> {
  const { options, switches, video, runs, budgetBytes, dtype } = job;
  const { latents: kind = "mode", signal, onNotice } = options;
  if (kind !== "mode" && kind !== "sample")
    throw new VdError({ code: "attr", where: "encode] [latents", expected: "mode or sample", got: String(kind) });
  const drawing = switches.fusedReparameterization ? kind : "host";
  const noise = kind === "sample" ? await noiseOf(job) : undefined;
  for (let chunk = await chooseChunk(job, drawing, budgetBytes); ; chunk = Math.ceil(chunk / 2)) {
    try {
      const result = await encodeBy(job, chunk, drawing, noise);
      const dims = [video.numFrames, job.vae.config.latentChannels, result.height, result.width];
      await runInSlices(checkResults.inPieces("encode", result.data, dims, dtype), { signal });
      return result;
    } catch (error) {
      if (chunk === 1 || !runs.isMemoryError(error)) throw error;
      onNotice?.(
        `The device ran out of memory encoding ${chunk} frames at a time; it goes on with ${Math.ceil(chunk / 2)}.`,
      );
    }
  }
}
