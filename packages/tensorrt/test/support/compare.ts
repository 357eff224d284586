import { join } from "node:path";
import { Device } from "@vd/kernels-native";
import { compile, type Graph } from "@vd/tensor";
import { type ExportedGraph, exportGraph, type Numbers, OnnxSession, writeModel } from "../../src/index";
import { temporaryFolder } from "./temporary-folder";

/** ‖a − b‖ / ‖b‖; NaN in a never passes a comparison. */
export function relative(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  let [difference, norm] = [0, 0];
  for (let i = 0; i < b.length; i++) {
    difference += (a[i]! - b[i]!) ** 2;
    norm += b[i]! ** 2;
  }
  return Math.sqrt(difference / (norm || 1));
}

/** Numbers without a pattern, the same in every run. */
export const numbers = (count: number, seed = 1): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => Math.sin((i + 1) * 12.9898 * seed) + 0.3 * Math.cos(i * 0.7 + seed));

/** What a recording gives on our CPU kernels. */
export async function runOurs(
  build: (g: Graph) => void,
  inputs: Readonly<Record<string, Float32Array>>,
): Promise<Record<string, Float32Array>> {
  const plan = await compile(Device.cpu({ threads: 2 }), build);
  try {
    for (const [name, data] of Object.entries(inputs)) plan.writeSync(name, data);
    await plan.run();
    return Object.fromEntries([...plan.layout.graph.outputs.keys()].map((name) => [name, plan.readSync(name)]));
  } finally {
    plan.freeSync();
  }
}

/** What its export gives in ONNX Runtime. */
export async function runExported(
  exported: ExportedGraph,
  inputs: Readonly<Record<string, Numbers>>,
): Promise<Record<string, Numbers>> {
  const { path } = await writeModel(join(temporaryFolder(), "model.onnx"), exportGraph(exported), { name: "test" });
  const session = await OnnxSession.open(path, { threads: 2 });
  try {
    return await session.run(inputs);
  } finally {
    await session.close();
  }
}
