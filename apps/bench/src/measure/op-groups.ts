import type { Plan, Row, Tensor } from "@vd/tensor";
import { median } from "../stats/summary";
import type { OpGroup } from "./report";

const MICRO = 1e-6;

const shapeOf = (tensor: Tensor | undefined) => (tensor ? `${tensor.dtype}[${tensor.dims.join(",")}]` : "-");

/** First input, weight and result: what tells calls of an op apart. */
function signature({ inputs, outputs }: Row): string {
  const weight = inputs[1] ? ` ${shapeOf(inputs[1])}` : "";
  return `${shapeOf(inputs[0])}${weight} -> ${shapeOf(outputs[0])}`;
}

/** Bytes of the operands and results of a row. */
export function rowBytes({ inputs, outputs }: Row): number {
  const sizes: Readonly<Record<string, number>> = { f32: 4, i32: 4, f16: 2, bf16: 2 };
  return [...inputs, ...outputs]
    .filter((tensor) => tensor !== undefined)
    .reduce((sum, { dims, dtype }) => sum + (sizes[dtype] ?? 1) * dims.reduce((a, b) => a * b, 1), 0);
}

/** Times every row of a plan `runs` times and adds up what is alike, the longest first. Inputs must be written. */
export async function opGroups(plan: Plan, runs: number, signal?: AbortSignal): Promise<OpGroup[]> {
  const times: Float64Array[] = [];
  for (let i = 0; i < runs; i++) times.push((await plan.run({ timing: true, signal })).rowUs);
  const { variants } = plan.info;
  const groups = new Map<string, OpGroup>();
  plan.layout.graph.rows.forEach((row, i) => {
    const shape = signature(row);
    const variant = variants[i] ?? "";
    const key = `${row.op} ${shape} ${variant}`;
    const group = groups.get(key) ?? {
      ...{ op: row.op, shape, variant, count: 0, totalUs: 0, gflop: 0, gigabytes: 0, tflopPerS: 0, gbPerS: 0 },
    };
    group.count++;
    group.totalUs += median(times.map((each) => each[i]!));
    group.gflop += row.flops / 1e9;
    group.gigabytes += rowBytes(row) / 1e9;
    groups.set(key, group);
  });
  for (const group of groups.values()) {
    group.tflopPerS = group.gflop / 1e3 / (group.totalUs * MICRO);
    group.gbPerS = group.gigabytes / (group.totalUs * MICRO);
  }
  return [...groups.values()].sort((a, b) => b.totalUs - a.totalUs);
}
