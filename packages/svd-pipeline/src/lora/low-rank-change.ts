import type { LoraMatrix, LoraModule } from "@vd/hub";
import { VdError } from "@vd/kernels-native";
import type { ChangeRow } from "@vd/tensor";

/** Sizes without the ones at their end: filters of 1×1 are matrices. */
function withoutOnes(sizes: readonly number[]): readonly number[] {
  const end = sizes.findLastIndex((size) => size !== 1) + 1;
  return sizes.slice(0, end);
}

const isSame = (a: readonly number[], b: readonly number[]) =>
  a.length === b.length && a.every((size, i) => size === b[i]);

const product = (sizes: readonly number[]) => sizes.reduce((all, size) => all * size, 1);

/** `down` behind `mid`: [rank, inputs, …filter] of [rank, rank, …filter] and [rank, inputs]. */
function joined({ down, mid, rank }: LoraModule): LoraMatrix {
  if (!mid) return down;
  const inputs = down.shape[1]!;
  const filter = mid.shape.slice(2);
  const area = product(filter);
  const values = new Float32Array(rank * inputs * area);
  for (let p = 0; p < rank; p++)
    for (let q = 0; q < rank; q++)
      for (let c = 0; c < inputs; c++)
        for (let i = 0; i < area; i++)
          values[(p * inputs + c) * area + i]! += mid.values[(p * rank + q) * area + i]! * down.values[q * inputs + c]!;
  return { shape: [rank, inputs, ...filter], values };
}

/** The shape of the weight that a LoRA is for, without ones at its end. */
function targetShape({ up }: LoraModule, down: LoraMatrix): readonly number[] {
  const hasFilter = up.shape.slice(2).some((size) => size !== 1);
  return hasFilter ? [] : withoutOnes([up.shape[0]!, ...down.shape.slice(1)]);
}

/**
 * Returns the change of a weight's rows by W + factor · up · down, added in float64. shape: of the weight, outputs first. where: the
 * LoRA's file.
 *
 * @throws VdError `weights` naming key and shapes where they do not fit
 */
export function lowRankChange(where: string, shape: readonly number[], module: LoraModule, weight: number): ChangeRow {
  const { key, rank, up } = module;
  const down = joined(module);
  if (!isSame(withoutOnes(shape), targetShape(module, down))) {
    const got = `[${module.down.shape}] and [${up.shape}]`;
    const expected = `a LoRA for a weight of [${shape}]`;
    const hint = "The LoRA was trained for another model.";
    throw new VdError({ code: "weights", where: `${where}] [${key}`, expected, got, hint });
  }
  const factor = weight * module.scale;
  const length = product(shape.slice(1));
  const sum = new Float64Array(length);
  const rows = Array.from({ length: rank }, (_, r) => down.values.subarray(r * length, (r + 1) * length));
  return (numbers, row) => {
    sum.set(numbers);
    const shares = Float64Array.from(up.values.subarray(row * rank, (row + 1) * rank), (value) => factor * value);
    addRows(sum, rows, shares);
    numbers.set(sum);
  };
}

function addRows(sum: Float64Array, rows: readonly Float32Array[], shares: Float64Array): void {
  const { length } = sum;
  for (const [r, row] of rows.entries()) {
    const share = shares[r]!;
    for (let i = 0; i < length; i++) sum[i] = sum[i]! + share * row[i]!;
  }
}

/**
 * Returns the change of a module's bias. shape: of the bias.
 *
 * @throws VdError `weights`
 */
export function biasChange(where: string, shape: readonly number[], module: LoraModule, weight: number): ChangeRow {
  const bias = module.bias!;
  if (!isSame(shape, bias.shape)) {
    const expected = `a change of a bias of [${shape}]`;
    throw new VdError({ code: "weights", where: `${where}] [${module.key}`, expected, got: `[${bias.shape}]` });
  }
  const factor = weight * module.scale;
  return (numbers, row) => {
    numbers[0]! += factor * bias.values[row]!;
  };
}
