import { maxAbs, relativeL2 } from "./compare";
import type { TensorCheck } from "./kind";

/** Limits that a fixture states for one precision, e.g. `rel_l2`, `o_maxabs`, `groupnorm.2d.bigmean_rel_l2`. */
export type Limits = Readonly<Record<string, number>>;

const metrics = { rel_l2: relativeL2, maxabs: maxAbs } as const;
type Metric = keyof typeof metrics;

/** `a.b.c`, `a.b`, `a`. */
function* prefixesOf(label: string): Generator<string> {
  const parts = label.split(".");
  for (let length = parts.length; length > 0; length--) yield parts.slice(0, length).join(".");
}

/** The limit for `label`: the one stated for its longest prefix, else the one without a prefix. Throws without any. */
export function limitFor(label: string, limits: Limits): { metric: Metric; tolerance: number } {
  for (const prefix of [...prefixesOf(label), ""])
    for (const metric of Object.keys(metrics) as Metric[]) {
      const tolerance = limits[prefix ? `${prefix}_${metric}` : metric];
      if (tolerance !== undefined) return { metric, tolerance };
    }
  throw new Error(`the fixture states no tolerance for ${label}: ${Object.keys(limits).join(", ")}`);
}

/** Compares by the metric and within the tolerance that the fixture states for `label`. */
export function withinStated(
  name: string,
  label: string,
  ours: ArrayLike<number>,
  golden: ArrayLike<number>,
  limits: Limits,
): TensorCheck {
  const { metric, tolerance } = limitFor(label, limits);
  return metrics[metric](name, ours, golden, tolerance);
}
