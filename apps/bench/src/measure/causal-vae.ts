import { join } from "node:path";
import type { DType } from "@vd/kernels-native";
import {
  CpuGenerator,
  type Graph,
  layoutGraph,
  type Plan,
  packedBytes,
  type RewriteCall,
  runInSlices,
  streamSafetensors,
  type TensorToWrite,
  type Weights,
} from "@vd/tensor";
import {
  CausalVideoAutoencoder,
  type CausalVideoVae,
  type Clip,
  frameFactor,
  pictureFactor,
  randomCausalVaeWeights,
  SEEDVR2_VAE_CONFIG,
} from "@vd/vae-opt";
import { limitVariants } from "./causal-limits";
import { writeInputs } from "./inputs";
import { toPlanes } from "./our-parts";
import { attempt, caseTurns, hasCase, type Session } from "./part-runs";
import type { BenchRow } from "./report";
import { type SeedvrCase, SeedvrPeer } from "./seedvr-peer";
import { Comparison, opByOp, type RecordVariant, vaeVariants } from "./vae-variants";

/** Weights of the published sizes that are random: times do not depend on them. */
export const RANDOM_WEIGHTS = "random";

const FILE_TYPES: Partial<Record<DType, "F32" | "F16" | "BF16">> = { f32: "F32", f16: "F16", bf16: "BF16" };

/** Writes weights for a peer, by their own names. @throws VdError `io` */
function writeWeights(path: string, weights: Weights, signal: AbortSignal): Promise<void> {
  const tensors = [...weights.entries].map(([name, { dtype, shape, storage, byteOffset }]): TensorToWrite => {
    const { buffer, byteOffset: base } = storage.place!;
    const read = () => buffer.readSync(new Uint8Array(packedBytes(shape, dtype)), base + byteOffset);
    return { name, dtype: FILE_TYPES[dtype]!, shape, data: read };
  });
  return streamSafetensors(path, tensors, { signal });
}

/** The model, what opens it as callers do, and a file or folder of its weights where another program asks for one. */
async function openModel(source: string, { context, work, signal }: Session) {
  const { device, options } = context;
  const dtype = options.precision;
  if (source !== RANDOM_WEIGHTS) {
    const { model } = await CausalVideoAutoencoder.fromPretrained(source, { device });
    const open = (maxBytes: number) => CausalVideoAutoencoder.fromPretrained(source, { device, dtype, maxBytes });
    return { model, open, weights: source };
  }
  const random = await runInSlices(randomCausalVaeWeights.inPieces(SEEDVR2_VAE_CONFIG), {
    ...{ signal, where: "making random weights" },
  });
  const { model } = await CausalVideoAutoencoder.fromWeights(random, SEEDVR2_VAE_CONFIG, { device });
  const open = (maxBytes: number) =>
    CausalVideoAutoencoder.fromWeights(random, SEEDVR2_VAE_CONFIG, { device, dtype, maxBytes });
  const weights = join(work, "causal.safetensors");
  if (options.seedvr) await writeWeights(weights, random, signal);
  return { model, open, weights };
}

/** Frames to measure: one, and a multiple of those that a latent stands for. */
function latentFrames(model: CausalVideoVae, numFrames: number): number {
  return Math.max(Math.round((numFrames - 1) / frameFactor(model.config)), 0) + 1;
}

/** Steps of the inputs in one unit: a fraction that every type has exactly, so that all contenders get the same numbers. */
const STEPS = 128;

/** One direction at the measured size. */
interface Direction {
  record: RecordVariant;
  /** The input as callers give it. */
  clip: Clip;
  /** Pixels of the input in all frames, and its channels. */
  inputs: { shape: readonly number[]; data: () => Float32Array };
}

/** Lays out one direction at the measured size. */
function directionOf(model: CausalVideoVae, direction: "encode" | "decode", { context }: Session): Direction {
  const { width, height, numFrames, seed } = context.options;
  const [factor, frames] = [pictureFactor(model.config), latentFrames(model, numFrames)];
  const { inChannels, outChannels, latentChannels } = model.config;
  const pictures = [frameFactor(model.config) * (frames - 1) + 1, height, width] as const;
  const latents = [frames, height / factor, width / factor] as const;
  const [input, channels] = direction === "encode" ? [pictures, inChannels] : [latents, latentChannels];
  const [result, made] = direction === "encode" ? [latents, 2 * latentChannels] : [pictures, outChannels];
  const [pixels, results] = [input, result].map((dims) => dims.reduce((product, dim) => product * dim, 1));
  const count = pixels! * channels;
  const values = new CpuGenerator(seed)
    .randn(Math.max(count, 16))
    .subarray(0, count)
    .map((value) => Math.round(STEPS * Math.tanh(value)) / STEPS);
  const record = (dtype: DType, rewrite: RewriteCall | undefined) => ({
    layout: layoutGraph(
      (g: Graph) => {
        if (rewrite) g.rewriteCalls(rewrite);
        g.output("y", model[direction](g, g.input("x", [1, ...input, channels])));
      },
      { dtype },
    ),
    fill: (plan: Plan) => plan.writeSync("x", values),
    read: async (plan: Plan) => toPlanes(await plan.read("y"), results!, made),
  });
  const clip: Clip = { values, dims: [...input, channels] };
  return { record, clip, inputs: { shape: [1, channels, ...input], data: () => toPlanes(values, pixels!, channels) } };
}

/** Puts SeedVR's own code beside ours: its float32 result, if one is asked for, and the contender. */
async function besideSeedvr(session: Session, peer: SeedvrPeer, part: "encode" | "decode", direction: Direction) {
  const { work, context, file } = session;
  const { options, dtype } = context;
  const { shape, data } = direction.inputs;
  const run: SeedvrCase = {
    part,
    ...{ inputs: join(work, `causal-${part}.safetensors`), output: join(work, `causal-${part}.out.safetensors`) },
    layout: direction.record(dtype, opByOp()).layout,
  };
  await writeInputs(run.inputs, { x: { shape, data: data() } });
  const found = options.reference
    ? await attempt(session, "float32 reference", () => peer.reference(run))
    : { value: undefined };
  if ("reason" in found)
    file.notes.push(`causal-${part}-switches: no float32 reference (${found.reason}): distances are to the first row.`);
  const comparison = new Comparison("value" in found ? found.value : undefined);
  return { comparison, variants: [peer.variant(run, comparison)] };
}

/** Measures what optimisations gain SeedVR2's causal autoencoder: each step beside the plain path, and SeedVR's own code where
 *  there is a checkout. */
export async function measureCausalVae(session: Session, source: string): Promise<void> {
  const { context, signal, file } = session;
  const { width, height, numFrames, seedvr, python, precision, threads, alone } = context.options;
  const limitSeconds = alone ? context.options.limitSeconds : undefined;
  let peer: SeedvrPeer | undefined;
  const stop = () => peer?.stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const { model, open, weights } = await openModel(source, session);
    const { config } = model;
    if (seedvr)
      peer = new SeedvrPeer(
        {
          ...seedvr,
          ...{ python, weights, config, threads, limitSeconds },
          device: context.device.kind,
          dtype: precision,
        },
        file,
      );
    const frames = frameFactor(config) * (latentFrames(model, numFrames) - 1) + 1;
    for (const part of ["encode", "decode"] as const) {
      const suite = `causal-${part}-switches`;
      if (!hasCase(context.options, suite)) continue;
      const direction = directionOf(model, part, session);
      const beside = peer
        ? await besideSeedvr(session, peer, part, direction)
        : { comparison: new Comparison(undefined), variants: [] };
      const { comparison } = beside;
      const { device, dtype } = context;
      const ours = vaeVariants({ device, record: direction.record, comparison });
      const run = { part, clip: direction.clip, layout: direction.record(dtype, opByOp()).layout };
      const within = limitVariants(context.options.causalLimits ?? [], run, { device, open, comparison });
      const variants = [...ours, ...within, ...beside.variants];
      await caseTurns(session, { suite, name: `${frames} frames ${width}x${height}` }, variants);
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const reason = error instanceof Error ? error.message : String(error);
    const row: BenchRow = { suite: "causal-switches", name: source, contender: "ours", reason };
    file.rows.push(row);
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}
