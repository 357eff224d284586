import { beside, type Plain } from "./plain";

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

/** Returns mean and biased variance [B,F,C,2] of each channel over the pixels of each frame of x: [B,F,H,W,C]. */
export function channelMoments(x: Plain): Plain {
  const [B, F, H, W, C] = x.dims as [number, number, number, number, number];
  const data = new Float64Array(B * F * C * 2);
  const placeOf = (i: number) => 2 * (Math.floor(i / (C * W * H)) * C + (i % C));
  x.data.forEach((value, i) => {
    data[placeOf(i)]! += value / (H * W);
  });
  x.data.forEach((value, i) => {
    data[placeOf(i) + 1]! += (value - data[placeOf(i)]!) ** 2 / (H * W);
  });
  return { dims: [B, F, C, 2], data };
}

/** Returns the moments [B,F,C,2] of the channels of two tensors side by side. */
export function besideMoments(a: Plain, b: Plain): Plain {
  const flat = ({ dims, data }: Plain): Plain => ({ dims: [dims[0]!, dims[1]!, 2 * dims[2]!], data });
  const { dims, data } = beside(flat(a), flat(b));
  return { dims: [dims[0]!, dims[1]!, dims[2]! / 2, 2], data };
}

/** Returns the statistics [B,1|F,groups,2] from moments [B,F,C,2] of the channels of frames of the same size. */
export function statisticsOfMoments(given: Plain, groups: number, eps: number, joined: boolean): Plain {
  const [B, F, C] = given.dims as [number, number, number];
  const [frames, width] = [joined ? 1 : F, C / groups];
  const together = F / frames;
  const sets = Array.from({ length: B * frames * groups }, (_, i) => {
    const [first, c0] = [Math.floor(i / groups) * together, (i % groups) * width];
    const pairs = Array.from({ length: together * width }, (_, j) => {
      const at = 2 * ((first + Math.floor(j / width)) * C + c0 + (j % width));
      return [given.data[at]!, given.data[at + 1]!] as const;
    });
    const mean = pairs.reduce((sum, [each]) => sum + each, 0) / pairs.length;
    const variance = pairs.reduce((sum, [each, spread]) => sum + spread + (each - mean) ** 2, 0) / pairs.length;
    return [mean, 1 / Math.sqrt(variance + eps)];
  });
  return { dims: [B, frames, groups, 2], data: Float64Array.from(sets.flat()) };
}
