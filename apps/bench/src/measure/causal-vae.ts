import type { DType } from "@vd/kernels-native";
import { CpuGenerator, type Graph, layoutGraph, type Plan, type RewriteCall } from "@vd/tensor";
import { CausalVideoAutoencoder, type CausalVideoVae, frameFactor, pictureFactor } from "@vd/vae-opt";
import { caseTurns, hasCase, type Session } from "./part-runs";
import type { BenchRow } from "./report";
import { type RecordVariant, vaeVariants } from "./vae-variants";

/** Weights of the published sizes that are random: times do not depend on them. */
export const RANDOM_WEIGHTS = "random";

async function openModel(source: string, { context }: Session): Promise<CausalVideoVae> {
  const { device } = context;
  const autoencoder =
    source === RANDOM_WEIGHTS
      ? await CausalVideoAutoencoder.withRandomWeights({ device })
      : await CausalVideoAutoencoder.fromPretrained(source, { device });
  return autoencoder.model;
}

/** Frames to measure: one, and a multiple of those that a latent stands for. */
function latentFrames(model: CausalVideoVae, numFrames: number): number {
  return Math.max(Math.round((numFrames - 1) / frameFactor(model.config)), 0) + 1;
}

/** Lays out one direction at the measured size. */
function recordOf(model: CausalVideoVae, direction: "encode" | "decode", { context }: Session): RecordVariant {
  const { width, height, numFrames, seed } = context.options;
  const [factor, frames] = [pictureFactor(model.config), latentFrames(model, numFrames)];
  const dims =
    direction === "encode"
      ? [1, frameFactor(model.config) * (frames - 1) + 1, height, width, model.config.inChannels]
      : [1, frames, height / factor, width / factor, model.config.latentChannels];
  const count = dims.reduce((product, dim) => product * dim, 1);
  const values = new CpuGenerator(seed).randn(Math.max(count, 16)).subarray(0, count).map(Math.tanh);
  return (dtype: DType, rewrite: RewriteCall | undefined) => ({
    layout: layoutGraph(
      (g: Graph) => {
        if (rewrite) g.rewriteCalls(rewrite);
        g.output("y", model[direction](g, g.input("x", dims)));
      },
      { dtype },
    ),
    fill: (plan: Plan) => plan.writeSync("x", values),
    read: (plan: Plan) => plan.read("y"),
  });
}

/** Measures what optimisations gain SeedVR2's causal autoencoder: each step beside the plain path. */
export async function measureCausalVae(session: Session, source: string): Promise<void> {
  const { context, signal, file } = session;
  const { width, height, numFrames } = context.options;
  try {
    const model = await openModel(source, session);
    const frames = frameFactor(model.config) * (latentFrames(model, numFrames) - 1) + 1;
    for (const direction of ["encode", "decode"] as const) {
      const suite = `causal-${direction}-switches`;
      if (!hasCase(context.options, suite)) continue;
      const record = recordOf(model, direction, session);
      const variants = vaeVariants({ device: context.device, record, reference: undefined });
      await caseTurns(session, { suite, name: `${frames} frames ${width}x${height}` }, variants);
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const reason = error instanceof Error ? error.message : String(error);
    const row: BenchRow = { suite: "causal-switches", name: source, contender: "ours", reason };
    file.rows.push(row);
  }
}
