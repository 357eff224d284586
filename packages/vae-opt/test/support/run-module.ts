import { type Device, openDevice } from "@vd/kernels-native";
import { CpuGenerator, compile, type Graph, type Tensor } from "@vd/tensor";

let device: Device | undefined;

/** Random numbers of about ±1; the same seed and count give the same ones. */
export const noise = (count: number, seed = 1): Float32Array =>
  new CpuGenerator(seed).randn(Math.max(count, 16)).subarray(0, count);

/** What a recorded function makes of `x`: its shape, its values, and the memory that it needed. */
export async function runModule(
  build: (g: Graph, x: Tensor) => Tensor,
  dims: readonly number[],
  x: Float32Array,
): Promise<{ dims: readonly number[]; values: Float32Array; peakBytes: number }> {
  device ??= openDevice("cpu", { threads: 2 });
  const plan = await compile(device, (g) => g.output("y", build(g, g.input("x", dims))));
  try {
    plan.writeSync("x", x);
    await plan.run();
    return {
      dims: plan.layout.graph.outputs.get("y")!.dims,
      values: plan.readSync("y"),
      peakBytes: plan.memory.peakBytes,
    };
  } finally {
    plan.freeSync();
  }
}
