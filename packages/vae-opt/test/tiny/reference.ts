/** A feature map of one frame: channels of rows of numbers. */
export type Planes = number[][][];
/** Weights by name, with their shapes; numbers in float64. */
export type NamedWeights = ReadonlyMap<string, { shape: readonly number[]; values: Float64Array }>;

const zerosLike = (x: Planes): Planes => x.map((plane) => plane.map((row) => row.map(() => 0)));
const relu = (x: Planes): Planes => x.map((plane) => plane.map((row) => row.map((value) => Math.max(value, 0))));
const added = (x: Planes, y: Planes): Planes =>
  x.map((plane, c) => plane.map((row, i) => row.map((value, j) => value + y[c]![i]![j]!)));
const grown = (x: Planes): Planes =>
  x.map((plane) =>
    plane.flatMap((row) => [row.flatMap((value) => [value, value]), row.flatMap((value) => [value, value])]),
  );

/** A convolution with as many zeros around as keep the size, one sum after the other. */
function convolved(x: Planes, weights: NamedWeights, name: string, stride = 1): Planes {
  const { shape, values } = weights.get(`${name}.weight`)!;
  const bias = weights.get(`${name}.bias`)?.values;
  const [cout, cin, size] = shape as [number, number, number];
  const pad = (size - 1) / 2;
  const [height, width] = [x[0]!.length, x[0]![0]!.length];
  const at = (c: number, i: number, j: number) => x[c]![i]?.[j] ?? 0;
  return Array.from({ length: cout }, (_, k) =>
    Array.from({ length: height / stride }, (_, i) =>
      Array.from({ length: width / stride }, (_, j) => {
        let sum = bias?.[k] ?? 0;
        for (let c = 0; c < cin; c++)
          for (let r = 0; r < size; r++)
            for (let s = 0; s < size; s++)
              sum += values[((k * cin + c) * size + r) * size + s]! * at(c, i * stride + r - pad, j * stride + s - pad);
        return sum;
      }),
    ),
  );
}

/** Three convolutions; the first one sees the channels of `memory` behind those of x, if there are any. */
function block(x: Planes, weights: NamedWeights, name: string, memory: Planes | undefined): Planes {
  const first = convolved(memory ? [...x, ...memory] : x, weights, `${name}.conv.0`);
  const second = convolved(relu(first), weights, `${name}.conv.2`);
  const third = convolved(relu(second), weights, `${name}.conv.4`);
  const skip = weights.has(`${name}.skip.weight`) ? convolved(x, weights, `${name}.skip`) : x;
  return relu(added(third, skip));
}

/** Decodes frames one after the other, as the published code does in real time. Layers are numbered from 0; `layers` says what
 *  each is. Results are in [-1,1]. */
export function referenceDecode(
  frames: readonly Planes[],
  weights: NamedWeights,
  layers: readonly ("conv" | "relu" | "block" | "memory block" | "grow")[],
): Planes[] {
  const memories = new Map<number, Planes>();
  return frames.map((frame) => {
    let x: Planes = frame.map((plane) => plane.map((row) => row.map((value) => Math.tanh(value / 3) * 3)));
    layers.forEach((layer, i) => {
      const input = x;
      if (layer === "conv") x = convolved(x, weights, String(i));
      else if (layer === "relu") x = relu(x);
      else if (layer === "grow") x = grown(x);
      else if (layer === "block") x = block(x, weights, String(i), undefined);
      else x = block(x, weights, String(i), memories.get(i) ?? zerosLike(x));
      memories.set(i, input);
    });
    return x.map((plane) => plane.map((row) => row.map((value) => 2 * value - 1)));
  });
}

/** Encodes a frame in [-1,1]. */
export function referenceEncode(
  frame: Planes,
  weights: NamedWeights,
  layers: readonly ("conv" | "shrink" | "block")[],
): Planes {
  let x: Planes = frame.map((plane) => plane.map((row) => row.map((value) => (value + 1) / 2)));
  layers.forEach((layer, i) => {
    if (layer === "block") x = block(x, weights, String(i), undefined);
    else x = convolved(x, weights, String(i), layer === "shrink" ? 2 : 1);
  });
  return x;
}
