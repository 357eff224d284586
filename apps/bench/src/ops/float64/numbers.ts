import type { DType } from "@vd/kernels-native";
import type { Plain } from "@vd/kernels-native/references";
import { decodeStored } from "@vd/tensor";
import { fillFromTable } from "../../synth/normal-codes";
import { encode, type OpOperand } from "../operands";

/** The largest number of each type of 8 bits. */
const LARGEST: Readonly<Partial<Record<DType, number>>> = { i8: 127, f8e4m3: 448 };

/** The numbers of an operand, as many as a pattern has, again and again. */
export class Numbers {
  constructor(
    readonly dims: readonly number[],
    readonly pattern: Float32Array,
  ) {}

  /** The number at a place in the packed operand. */
  element(place: number): number {
    return this.pattern[place % this.pattern.length]!;
  }

  /** The number at an index; dimensions of size 1 are broadcast. */
  at(...index: number[]): number {
    let place = 0;
    for (let d = 0; d < this.dims.length; d++) place = place * this.dims[d]! + (this.dims[d] === 1 ? 0 : index[d]!);
    return this.element(place);
  }

  /** Writes `count` numbers from a place on into `target`. */
  copy(place: number, target: Float64Array, at: number, count: number): void {
    const length = this.pattern.length;
    for (let done = 0, from = place % length; done < count; from = 0) {
      const part = this.pattern.subarray(from, Math.min(length, from + count - done));
      target.set(part, at + done);
      done += part.length;
    }
  }
}

/** The numbers of an operand as the run has them, rounded to its type; flags of u8 as what they add to scores. */
export function storedNumbers({ dims, dtype, pattern }: OpOperand): Numbers {
  const stored = decodeStored(encode(pattern, dtype), dtype);
  if (dtype === "u8")
    return new Numbers(
      dims,
      stored.map((flag) => (flag ? 0 : Number.NEGATIVE_INFINITY)),
    );
  return new Numbers(dims, stored);
}

/** The numbers that an operand of 8 bits was rounded from, in `dtype` and within the range of its codes, so that rounding with the same
 *  scale gives the same codes; those of other operands are the run's own. */
export function unroundedNumbers(operand: OpOperand, dtype: DType): Numbers {
  const largest = LARGEST[operand.dtype];
  if (largest === undefined) return storedNumbers(operand);
  const inRange = operand.pattern.map((value) => Math.max(-largest, Math.min(value, largest)));
  return new Numbers(operand.dims, decodeStored(encode(inRange, dtype), dtype));
}

/** `count` integers below `bound` that `label` decides, or all of them where they are no more. */
export function chosen(label: string, count: number, bound: number): number[] {
  if (bound <= count) return Array.from({ length: bound }, (_, i) => i);
  const identity = Uint16Array.from({ length: 65_536 }, (_, i) => i);
  const words = new Uint16Array(3 * count);
  fillFromTable(words, identity, label);
  return Array.from({ length: count }, (_, i) => {
    const [a, b, c] = words.subarray(3 * i, 3 * i + 3);
    return Math.floor((((a! * 2 ** 16 + b!) * 2 ** 16 + c!) / 2 ** 48) * bound);
  });
}

/** The index of an element of dims by its place in the packed tensor. */
export function indexOf(place: number, dims: readonly number[]): number[] {
  const index = dims.map(() => 0);
  for (let d = dims.length - 1, rest = place; d >= 0; d--) {
    index[d] = rest % dims[d]!;
    rest = Math.floor(rest / dims[d]!);
  }
  return index;
}

/** The place of an element in the packed tensor by its index. */
export const placeOf = (index: readonly number[], dims: readonly number[]): number =>
  dims.reduce((place, size, d) => place * size + index[d]!, 0);

/** The parts of a tensor behind some leading indices, one after the other: [number of indices, …]. */
export function parts(numbers: Numbers, leading: readonly (readonly number[])[]): Plain {
  const { dims } = numbers;
  const inner = dims.slice(leading[0]!.length);
  const count = inner.reduce((product, size) => product * size, 1);
  const data = new Float64Array(leading.length * count);
  leading.forEach((index, i) => {
    const place = index.reduce((sum, at, d) => sum * dims[d]! + (dims[d] === 1 ? 0 : at), 0);
    numbers.copy(place * count, data, i * count, count);
  });
  return { dims: [leading.length, ...inner], data };
}

/** All numbers of a tensor. */
export function wholeOf(numbers: Numbers): Plain {
  const data = new Float64Array(numbers.dims.reduce((product, size) => product * size, 1));
  numbers.copy(0, data, 0, data.length);
  return { dims: numbers.dims, data };
}

/** A tensor of the numbers at the indices that `from` gives for its own. */
export function picked(numbers: Numbers, dims: readonly number[], from: (index: readonly number[]) => number[]): Plain {
  const data = new Float64Array(dims.reduce((product, size) => product * size, 1));
  for (let place = 0; place < data.length; place++) data[place] = numbers.at(...from(indexOf(place, dims)));
  return { dims, data };
}
