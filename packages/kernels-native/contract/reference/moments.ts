import type { Plain } from "./plain";

/** Returns mean and 1/sqrt(variance + eps) of some numbers, with the biased variance. */
export function moments(values: readonly number[], eps: number): [number, number] {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return [mean, 1 / Math.sqrt(variance + eps)];
}

/** Returns the statistics [B,1|F,groups,2] of x: [B,F,H,W,C], over all frames where `joined`. */
export function groupStatistics(x: Plain, groups: number, eps: number, joined: boolean): Plain {
  const [B, F, H, W, C] = x.dims as [number, number, number, number, number];
  const frames = joined ? 1 : F;
  const width = C / groups;
  const sets = Array.from({ length: B * frames * groups }, () => [] as number[]);
  x.data.forEach((value, i) => {
    const [channel, frame] = [i % C, Math.floor(i / (C * W * H))];
    const set = joined ? Math.floor(frame / F) : frame;
    sets[set * groups + Math.floor(channel / width)]!.push(value);
  });
  return { dims: [B, frames, groups, 2], data: Float64Array.from(sets.flatMap((set) => moments(set, eps))) };
}
