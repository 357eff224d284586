import type { RunTimes } from "@vd/kernels-native";
import type { GraphLayout } from "@vd/tensor";

/** Parts of the native call by the first word of a row's name; every other row is the network's. */
const PARTS: readonly string[] = ["context", "sampler", "frame", "drift", "change"];

const partOf = (row: string) => {
  const first = row.split(".", 1)[0]!;
  return `run.${PARTS.includes(first) ? first : "network"}`;
};

/** Mean times by part. */
export class PartTimes {
  private readonly sums = new Map<string, { total: number; count: number }>();

  /** Adds a part of one frame. */
  add(part: string, ms: number): void {
    const sum = this.sums.get(part);
    if (sum) {
      sum.total += ms;
      sum.count++;
    } else this.sums.set(part, { total: ms, count: 1 });
  }

  /** Adds the parts of a native call whose rows were timed. */
  addRows({ graph }: GraphLayout, { rowUs }: RunTimes): void {
    const parts = new Map<string, number>();
    for (const [i, { name }] of graph.rows.entries()) {
      const part = partOf(name);
      parts.set(part, (parts.get(part) ?? 0) + (rowUs[i] ?? 0) / 1_000);
    }
    for (const [part, ms] of parts) this.add(part, ms);
  }

  /** Mean milliseconds a frame by part. */
  means(): Record<string, number> {
    return Object.fromEntries([...this.sums].map(([part, { total, count }]) => [part, total / count]));
  }
}
