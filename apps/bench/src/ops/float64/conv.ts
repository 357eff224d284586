import type { Plain } from "@vd/kernels-native/references";
import { chosen, indexOf, type Numbers, parts, picked, placeOf, wholeOf } from "./numbers";
import type { FullCall, SampledCall } from "./sampled-call";

/** Pixels of the result, and about as many filters for each: 512 elements. */
const PIXELS = 32;
const FILTERS = 16;

type Five = [number, number, number, number, number];

/** Where an element of the clip, or of the frames in front of it, lies that a filter's tap meets; undefined in the padding. */
type Reach = (pixel: readonly number[], tap: readonly number[]) => readonly number[] | undefined;

/** What filters of a convolution meet, frames counted from the first past one. */
function reachForwards(call: FullCall): Reach {
  const { stride, padding, upsample = false, framePadding } = call.attrs;
  const [steps, pads] = [stride as readonly number[], padding as readonly number[]];
  const [, f, h, w] = call.operands.x!.dims as Five;
  const frames = f + (call.operands.past?.dims[1] ?? 0);
  const grow = upsample ? 2 : 1;
  return (pixel, tap) => {
    const [frame, row, column] = [0, 1, 2].map((axis) => pixel[axis]! * steps[axis]! + tap[axis]! - pads[2 * axis]!);
    const kept = framePadding === "replicate" ? Math.min(Math.max(frame!, 0), frames - 1) : frame!;
    const isOutside = kept < 0 || kept >= frames || row! < 0 || row! >= grow * h || column! < 0 || column! >= grow * w;
    return isOutside ? undefined : [kept, Math.floor(row! / grow), Math.floor(column! / grow)];
  };
}

/** What filters of a transposed convolution meet: every other tap, zeros between. */
function reachTransposed(call: FullCall): Reach {
  const [, dh, dw] = call.attrs.stride as readonly [number, number, number];
  const [, , top, , left] = call.attrs.padding as readonly number[];
  const [, , h, w] = call.operands.x!.dims as Five;
  return ([frame, row, column], [, r, s]) => {
    const [y, x] = [(row! + top! - r!) / dh, (column! + left! - s!) / dw];
    const isPixel = Number.isInteger(y) && Number.isInteger(x) && y >= 0 && y < h && x >= 0 && x < w;
    return isPixel ? [frame!, y, x] : undefined;
  };
}

/** What pixels of the result meet of the clip and of the frames in front of it, the tensors [pixels, T, R, S, C]. */
function patchesOf({ operands }: FullCall, pixels: readonly (readonly number[])[], reach: Reach): Plain {
  const [x, past] = [operands.x!, operands.past];
  const kernel = operands.weight!.dims.slice(2);
  const [before, channels] = [past?.dims[1] ?? 0, x.dims[4]!];
  const dims = [pixels.length, ...kernel, channels];
  const data = new Float64Array(dims.reduce((product, size) => product * size, 1));
  for (let patch = 0; patch * channels < data.length; patch++) {
    const [i, ...tap] = indexOf(patch, dims.slice(0, 4)) as [number, ...number[]];
    const [b, ...pixel] = pixels[i]! as [number, ...number[]];
    const met = reach(pixel, tap);
    if (!met) continue;
    const isPast = met[0]! < before;
    const [source, frame] = isPast ? [past!, met[0]!] : [x, met[0]! - before];
    source.copy(placeOf([b, frame, ...met.slice(1), 0], source.dims), data, patch * channels, channels);
  }
  return { dims, data };
}

/** Filters that are some of all, as many of each group. */
function someFilters(label: string, count: number, groups: number): number[] {
  const each = count / groups;
  const own = chosen(`${label} filters`, Math.max(1, Math.floor(FILTERS / groups)), each);
  return Array.from({ length: groups }, (_, group) => own.map((filter) => group * each + filter)).flat();
}

/** A convolution of any kind at some pixels and filters. What a pixel's filters meet, with the zeros of its padding, becomes a clip
 *  that they cover exactly. */
export function sampleConv(call: FullCall): SampledCall[] {
  const { label, attrs, operands, resultDims } = call;
  const [b, g, p, q, k] = resultDims as Five;
  const transposed = attrs.transposed === true;
  const kernel = operands.weight!.dims.slice(2) as [number, number, number];
  const pixels = chosen(`${label} pixels`, PIXELS, b * g * p * q).map((place) => indexOf(place, [b, g, p, q]));
  const filters = someFilters(label, k, (attrs.groups as number | undefined) ?? 1);
  const reach = transposed ? reachTransposed(call) : reachForwards(call);
  const leading = filters.map((filter) => [filter]);
  const perFilter = (numbers: Numbers) => parts(numbers, leading);
  const perPixel = (numbers: Numbers) =>
    picked(numbers, [pixels.length, 1, 1, 1, filters.length], ([i, , , , c]) => [...pixels[i!]!, filters[c!]!]);
  const weight = operands.weight!;
  const pick: Readonly<Record<string, (numbers: Numbers) => Plain>> = {
    x: () => patchesOf(call, pixels, reach),
    weight: transposed
      ? () =>
          picked(weight, [filters.length, weight.dims[0]!, ...kernel], ([i, c, ...tap]) => [c!, filters[i!]!, ...tap])
      : perFilter,
    xScale: (n) => picked(n, [pixels.length, 1, 1, 1], ([i]) => [pixels[i!]![0]!, 0, 0, 0]),
    ...{ weightScale: perFilter, bias: perFilter, residual: perPixel, residual2: perPixel },
    frameBias: (n) =>
      picked(n, [pixels.length, 1, filters.length], ([i, , c]) => [...pixels[i!]!.slice(0, 2), filters[c!]!]),
    yScale: (n) => parts(n, [[0]]),
  };
  const own = Object.entries(operands)
    .filter(([name]) => name !== "past")
    .map(([name, numbers]) => [name, pick[name]!(numbers)] as const);
  const elements = pixels.flatMap((pixel, i) =>
    filters.map((filter, c) => ({ from: i * filters.length + c, to: placeOf([...pixel, filter], resultDims) })),
  );
  const plainly = { stride: [1, 1, 1], padding: [0, 0, 0, 0, 0, 0], upsample: false, transposed: false };
  return [{ operands: Object.fromEntries(own), attrs: { ...plainly, framePadding: "zeros" }, elements }];
}

/** conv_winograd, group_norm_conv and group_norm_conv_q8 at some pixels: for each the clip's part around it that filters see, which ends where the clip ends. */
export function sampleNormedConv({ label, operands, attrs, resultDims }: FullCall): SampledCall[] {
  const [b, f, h, w, k] = resultDims as Five;
  const filters = chosen(`${label} filters`, FILTERS, k);
  const leading = filters.map((filter) => [filter]);
  const numFrames = operands.x!.dims[1]!;
  const [taps, ...sizes] = operands.weight!.dims.slice(2) as [number, number, number];
  const [below, right] = sizes.map((size) => Math.floor(size / 2)) as [number, number];
  const front = taps === 1 ? 0 : (attrs.temporalPadding as readonly number[])[0]!;
  return chosen(`${label} pixels`, PIXELS, b * f * h * w).map((place) => {
    const [i, frame, row, column] = indexOf(place, [b, f, h, w]) as [number, number, number, number];
    const [top, left] = [Math.max(0, row - below), Math.max(0, column - right)];
    const size = [Math.min(h, row + below + 1) - top, Math.min(w, column + right + 1) - left] as const;
    // The frames that this one result sees, less those outside the clip.
    const [first, end] = [Math.max(0, frame - front), Math.min(numFrames, frame - front + taps)];
    const temporalPadding = [first - (frame - front), frame - front + taps - end];
    const part = (numbers: Numbers) =>
      picked(numbers, [1, end - first, ...size, numbers.dims[4]!], ([, t, y, x, c]) => [
        i,
        first + t!,
        top + y!,
        left + x!,
        c!,
      ]);
    const perFilter = (numbers: Numbers) => parts(numbers, leading);
    const perPixel = (numbers: Numbers) =>
      picked(numbers, [1, 1, ...size, filters.length], ([, , y, x, n]) => [
        i,
        frame,
        top + y!,
        left + x!,
        filters[n!]!,
      ]);
    const statistics = (n: Numbers) =>
      picked(n, [1, n.dims[1] === 1 ? 1 : end - first, ...n.dims.slice(2)], ([, t, group, which]) => [
        i,
        first + t!,
        group!,
        which!,
      ]);
    const pick: Readonly<Record<string, (numbers: Numbers) => Plain>> = {
      ...{ x: part, x2: part, weight: perFilter, bias: perFilter, residual: perPixel, residual2: perPixel },
      ...{ normWeight: wholeOf, normBias: wholeOf, stats: statistics, normScale: wholeOf, weightScale: perFilter },
      frameBias: (n) => picked(n, [1, 1, filters.length], ([, , c]) => [i, frame, filters[c!]!]),
    };
    const own = Object.entries(operands).map(([name, numbers]) => [name, pick[name]!(numbers)] as const);
    const at = ((row - top) * size[1] + column - left) * filters.length;
    const elements = filters.map((filter, n) => ({
      ...{ from: at + n, to: placeOf([i, frame, row, column, filter], resultDims) },
    }));
    return { operands: Object.fromEntries(own), attrs: { temporalPadding }, elements };
  });
}
