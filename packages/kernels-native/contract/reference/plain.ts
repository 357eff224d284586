import type { AttrValue } from "../define-case";
import type { DType } from "../dtype";

/** A packed tensor of float64 numbers. */
export interface Plain {
  dims: readonly number[];
  data: Float64Array;
}

/** A call as a reference sees it: every attribute has its value, absent operands are undefined. */
export interface PlainCall {
  operand(name: string): Plain;
  optional(name: string): Plain | undefined;
  number(name: string): number;
  list(name: string): readonly number[];
  flag(name: string): boolean;
  word(name: string): string;
  words(name: string): readonly string[];
  /** Element type of the first result, for ops that round to it by their definition. */
  resultType: DType;
}

/** Results by the contract's names. */
export type PlainResults = Readonly<Record<string, Plain>>;

/** An op in float64, written from its formula and not from any backend's code. */
export type Reference = (call: PlainCall) => PlainResults;

const sizeOf = (dims: readonly number[]) => dims.reduce((product, dim) => product * dim, 1);

/** Calls with the indices one by one for the usual ranks: to spread a list takes several times as long. */
function elementAt(element: (...index: number[]) => number, index: readonly number[]): number {
  const [a, b, c, d, e] = index as [number, number, number, number, number];
  if (index.length === 5) return element(a, b, c, d, e);
  if (index.length === 4) return element(a, b, c, d);
  return index.length === 2 ? element(a, b) : element(...index);
}

/** A tensor whose elements are computed from their indices. */
export function plain(dims: readonly number[], element: (...index: number[]) => number): Plain {
  const data = new Float64Array(sizeOf(dims));
  const index = dims.map(() => 0);
  for (let i = 0; i < data.length; i++) {
    data[i] = elementAt(element, index);
    for (let d = dims.length - 1; d >= 0 && ++index[d]! === dims[d]; d--) index[d] = 0;
  }
  return { dims, data };
}

/** The element at `index`; size-1 dimensions are broadcast, and anything outside is 0. */
export function at({ dims, data }: Plain, ...index: number[]): number {
  let offset = 0;
  for (let d = 0; d < dims.length; d++) {
    const i = dims[d] === 1 ? 0 : index[d]!;
    if (dims[d] !== 1 && (i < 0 || i >= dims[d]!)) return 0;
    offset = offset * dims[d]! + i;
  }
  return data[offset]!;
}

/** Σ a[i] · b[i] over `count` elements from places of each on, in four sums beside each other, since an addition waits for the
 *  one before it. */
export function dot(a: Float64Array, firstA: number, b: Float64Array, firstB: number, count: number): number {
  let [s0, s1, s2, s3, i] = [0, 0, 0, 0, 0];
  for (; i + 4 <= count; i += 4) {
    const [p, q] = [firstA + i, firstB + i];
    s0 += a[p]! * b[q]!;
    s1 += a[p + 1]! * b[q + 1]!;
    s2 += a[p + 2]! * b[q + 2]!;
    s3 += a[p + 3]! * b[q + 3]!;
  }
  for (; i < count; i++) s0 += a[firstA + i]! * b[firstB + i]!;
  return s0 + s1 + (s2 + s3);
}

/** Returns weights [M,N] times rows [N,D]. */
export function mixed(weights: Plain, rows: Plain): Plain {
  const [[count, inner], width] = [weights.dims as [number, number], rows.dims[1]!];
  const data = new Float64Array(count * width);
  for (let m = 0; m < count; m++)
    for (let n = 0; n < inner; n++) {
      const weight = weights.data[m * inner + n]!;
      for (let d = 0; d < width; d++) data[m * width + d]! += weight * rows.data[n * width + d]!;
    }
  return { dims: [count, width], data };
}

/** Two tensors side by side in their last dimension. */
export function beside(a: Plain, b: Plain | undefined): Plain {
  if (!b) return a;
  const [ca, cb] = [a.dims.at(-1)!, b.dims.at(-1)!];
  return plain([...a.dims.slice(0, -1), ca + cb], (...index) => {
    const channel = index.pop()!;
    return channel < ca ? at(a, ...index, channel) : at(b, ...index, channel - ca);
  });
}

/** The call of a reference for operands and attributes by name. */
export function plainCall(
  operands: Readonly<Record<string, Plain>>,
  attrs: Readonly<Record<string, AttrValue>>,
  resultType: DType = "f32",
): PlainCall {
  const operand = (name: string) => {
    const found = operands[name];
    if (!found) throw new Error(`no operand ${name}`);
    return found;
  };
  return {
    operand,
    optional: (name) => operands[name],
    number: (name) => attrs[name] as number,
    list: (name) => attrs[name] as readonly number[],
    flag: (name) => attrs[name] as boolean,
    word: (name) => attrs[name] as string,
    words: (name) => attrs[name] as readonly string[],
    resultType,
  };
}

/** The call with other operands in place of its own, by name; undefined stands for one that it then has not. */
export function withOperands(call: PlainCall, others: Readonly<Record<string, Plain | undefined>>): PlainCall {
  const optional = (name: string) => (name in others ? others[name] : call.optional(name));
  const operand = (name: string) => {
    const found = optional(name);
    if (!found) throw new Error(`no operand ${name}`);
    return found;
  };
  return { ...call, optional, operand };
}
