import type { Tensor } from "@vd/tensor";
import { floatsOf, ownWeight } from "../unet-2d/own-weight";

/** Channels of a head that kernels load at once: 16 bytes of 16 bits each. */
const GROUP = 8;

/** Shape of an attention. */
export interface HeadsShape {
  channels: number;
  heads: number;
}

/** The channels of all heads where each has room for whole groups: those that the attention does not have are zeros, and count for
 *  nothing in products and sums. */
export const headChannels = ({ channels, heads }: HeadsShape): number =>
  heads * GROUP * Math.ceil(channels / heads / GROUP);

/** Weights whose parts, which lie behind each other, have zeros at their ends. dims: of the result. */
function padParts(weight: Tensor, numParts: number, dims: readonly number[]): Tensor {
  const values = floatsOf(weight);
  const data = new Float32Array(dims.reduce((count, size) => count * size, 1));
  const [own, padded] = [values.length / numParts, data.length / numParts];
  for (let part = 0; part < numParts; part++) data.set(values.subarray(part * own, (part + 1) * own), part * padded);
  return ownWeight(`${weight.storage.name} padded`, data, dims);
}

/** Returns what `make` made when it was first called: weights may not be there before a graph asks for them. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Rows of queries, keys and values with {@link headChannels}. weight: [3·C,C], bias: [3·C]. */
export function paddedRows(weight: Tensor, bias: Tensor, shape: HeadsShape): () => { weight: Tensor; bias: Tensor } {
  const [rows, numParts] = [3 * headChannels(shape), 3 * shape.heads];
  if (rows === 3 * shape.channels) return () => ({ weight, bias });
  return once(() => ({
    weight: padParts(weight, numParts, [rows, shape.channels]),
    bias: padParts(bias, numParts, [rows]),
  }));
}

/** Columns for {@link headChannels} of the product behind an attention. weight: [C,C]. */
export function paddedColumns(weight: Tensor, shape: HeadsShape): () => Tensor {
  const columns = headChannels(shape);
  if (columns === shape.channels) return () => weight;
  return once(() => padParts(weight, shape.channels * shape.heads, [shape.channels, columns]));
}
