import type { Device } from "@vd/kernels-native";
import type { GraphLayout } from "@vd/tensor";
import { type CausalVideoAutoencoder, type Clip, pictureFactor } from "@vd/vae-opt";
import type { Contender } from "./contenders";
import { MemoryWatch } from "./memory-watch";
import { toPlanes } from "./our-parts";
import type { Comparison, VaeVariant } from "./vae-variants";

const GIB = 2 ** 30;

/** A direction at the measured size, as a caller asks for it. */
export interface CausalCase {
  part: "encode" | "decode";
  /** What goes in. */
  clip: Clip;
  /** Our plan of the same layers, op by op: it says how much work they are. */
  layout: GraphLayout;
}

/** What calls within a limit are measured with. */
export interface LimitOptions {
  device: Device;
  /** Opens the autoencoder within so many bytes. */
  open(maxBytes: number): Promise<CausalVideoAutoencoder>;
  /** What results are held against. */
  comparison: Comparison;
}

/** How rows call ours within so many GiB. */
export const withinName = (gibibytes: number): string => `ours-within-${gibibytes}-gib`;

/** Means and log-variances of what encoding gives, [pixels,2C]: the parts of its distribution, taken together again. */
function momentsOf({ mode, std }: { mode: Float32Array; std: Float32Array }, channels: number): Float32Array {
  const moments = new Float32Array(2 * mode.length);
  for (let i = 0; i < mode.length; i++) {
    const at = i + channels * Math.floor(i / channels);
    moments[at] = mode[i]!;
    moments[at + channels] = 2 * Math.log(std[i]!);
  }
  return moments;
}

/** Makes one call; the function that it returns gives the result as SeedVR's code has it, [C,F,H,W]. */
async function call(vae: CausalVideoAutoencoder, { part, clip }: CausalCase, signal: AbortSignal) {
  if (part === "decode") {
    const { values, dims } = await vae.decode(clip, { signal });
    return () => toPlanes(values, values.length / dims[3], dims[3]);
  }
  const { mode, std, dims } = await vae.encode(clip, { signal });
  return () => toPlanes(momentsOf({ mode, std }, dims[3]), mode.length / dims[3], 2 * dims[3]);
}

/** What is planned for one direction; nothing where the other one does not fit, which is planned with it. */
async function plannedFor(vae: CausalVideoAutoencoder, { part, clip }: CausalCase, signal: AbortSignal) {
  const [, height, width] = clip.dims;
  const factor = part === "encode" ? 1 : pictureFactor(vae.config);
  try {
    const { [part]: plan } = await vae.plan({ height: factor * height, width: factor * width, signal });
    return { plannedBytes: plan.bytes };
  } catch {
    return {};
  }
}

/** Opens the autoencoder and makes the first call, which plans and loads. */
async function contender(
  gibibytes: number,
  run: CausalCase,
  { device, open, comparison }: LimitOptions,
  signal: AbortSignal,
): Promise<Contender> {
  const watch = await MemoryWatch.start(device);
  const vae = await open(gibibytes * GIB);
  const timed = async () => {
    const startMs = performance.now();
    const result = await call(vae, run, signal);
    return { result, us: 1000 * (performance.now() - startMs) };
  };
  try {
    const { result, us: firstUs } = await watch.during(timed);
    await watch.look();
    const { flops, bytes } = run.layout.cost;
    const planned = await plannedFor(vae, run, signal);
    const peakBytes = watch.peakBytes ?? planned.plannedBytes;
    return {
      name: withinName(gibibytes),
      facts: { flops, bytes, firstUs, ...(peakBytes && { peakBytes }), ...planned, ...comparison.of(result()) },
      async run(repeats) {
        const times: number[] = [];
        for (let i = 0; i < repeats; i++) times.push((await timed()).us);
        return times;
      },
      close: () => vae.close(),
    };
  } catch (error) {
    await vae.close();
    throw error;
  }
}

/** Ours as callers call it, from array to array, within each of the limits, in GiB. */
export const limitVariants = (limits: readonly number[], run: CausalCase, options: LimitOptions): VaeVariant[] =>
  limits.map((gibibytes) => ({
    name: withinName(gibibytes),
    load: (signal) => contender(gibibytes, run, options, signal),
  }));
