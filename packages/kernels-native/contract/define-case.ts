import type { OpDefinition } from "./define-op";
import type { DType } from "./dtype";
import { POINTWISE_ACTIVATIONS } from "./epilogue";

/** The numbers of an operand: normal ones of a mean and a deviation, 0 or 1 with the first of each row 1, or given. */
export type Fill = { mean: number; deviation: number } | "flags" | { values: readonly number[] };

/** One operand of a case. */
export interface Operand {
  dims: readonly number[];
  /** Default f32. */
  dtype?: DType;
  /** Elements between pixels beyond the channels: the pitch is their sum. Default 0. */
  gap?: number;
  /** Bytes in front of the first element: constants may lie anywhere, others at multiples of their element. */
  shiftBytes?: number;
  /** Default: mean 0, deviation 1. */
  fill?: Fill;
  /** False: an operand that the contract calls constant may change from run to run here. */
  constant?: false;
}

/** An attribute's value as callers write it. */
export type AttrValue = number | readonly number[] | boolean | string | readonly string[];

/** One call of an op with the shapes, types and places of its operands. */
export interface OpCase<Input extends string = string, Attr extends string = string, Output extends string = string> {
  /** Unique within the op; bench shapes are named after the model's layer, e.g. `tiny.unet.down0.res0.conv1`. */
  name: string;
  /** A list of sizes stands for a packed f32 operand of ordinary numbers. */
  inputs: { readonly [Name in Input]?: Operand | readonly number[] };
  attrs?: { readonly [Name in Attr]?: AttrValue };
  /** Optional results to compute as well. */
  also?: readonly Output[];
  /** Element type of the first result where that of the first operand does not decide it. Default: the first that the
   *  contract allows. */
  outType?: DType;
  /** Elements between pixels of the first result beyond its channels. */
  outGap?: number;
}

/** The shapes of one op. */
export interface OpCases {
  op: OpDefinition;
  /** Small and awkward: checked on every backend. */
  correctness: readonly OpCase[];
  /** From the models: timed, never computed by tests. */
  bench: readonly OpCase[];
}

/** A case of `T` with its own names of operands, attributes and results. */
export type CaseOf<T extends OpDefinition> = OpCase<
  keyof T["inputs"] & string,
  keyof T["attrs"] & string,
  keyof T["outputs"] & string
>;

/** The cases of an op, with names checked against its contract. */
export function defineCases<const T extends OpDefinition>(
  op: T,
  cases: { correctness: readonly CaseOf<T>[]; bench: readonly CaseOf<T>[] },
): OpCases {
  return { op, correctness: cases.correctness as readonly OpCase[], bench: cases.bench as readonly OpCase[] };
}

/** The operand as an object. */
export const operandOf = (operand: Operand | readonly number[]): Operand =>
  "dims" in operand ? operand : { dims: operand };

/** Sizes that the shared epilogue's operands need. */
interface EpilogueSizes {
  /** Of the result, [B,F,…,K]. */
  out: readonly number[];
  /** Rows of the weight: K, or twice that with a gated activation. */
  rows: number;
}

type EpilogueName = "bias" | "frameBias" | "residual" | "residual2";
type EpilogueAttr = "act" | "outScale" | "residualScale" | "residual2Scale";
type EpilogueCase = Required<Pick<OpCase<EpilogueName, EpilogueAttr>, "name" | "inputs" | "attrs">>;

/** Every term of the shared epilogue alone and all together, for conv and linear; gated activations are the caller's affair. */
export function epilogueCases({ out, rows }: EpilogueSizes): EpilogueCase[] {
  const [batch, frames] = out as [number, number];
  const biases = ([1, batch] as const).flatMap((b) =>
    ([1, frames] as const).map((f) => ({
      name: `frame bias ${b}x${f}`,
      inputs: { frameBias: [b, f, rows] },
      attrs: {},
    })),
  );
  const everything = {
    bias: [rows],
    frameBias: { dims: [batch, frames, rows], gap: 3 },
    residual: { dims: out, gap: 5 },
    residual2: { dims: out, gap: 1 },
  };
  return [
    { name: "bias", inputs: { bias: [rows] }, attrs: {} },
    { name: "bias f16", inputs: { bias: { dims: [rows], dtype: "f16" } }, attrs: {} },
    { name: "bias bf16", inputs: { bias: { dims: [rows], dtype: "bf16", shiftBytes: 1 } }, attrs: {} },
    { name: "bias that may change", inputs: { bias: { dims: [rows], constant: false } }, attrs: {} },
    ...biases,
    { name: "residual", inputs: { residual: out }, attrs: {} },
    { name: "residual scaled", inputs: { residual: { dims: out, gap: 7 } }, attrs: { residualScale: -0.75 } },
    { name: "residual2 alone", inputs: { residual2: out }, attrs: { residual2Scale: 0.3 } },
    { name: "out scale", inputs: {}, attrs: { outScale: -2.5 } },
    { name: "out scale 0", inputs: { residual: out }, attrs: { outScale: 0 } },
    ...POINTWISE_ACTIVATIONS.flatMap((act) => [
      { name: `act ${act}`, inputs: { bias: [rows] }, attrs: { act } },
      {
        name: `everything, ${act}`,
        inputs: everything,
        attrs: { act, outScale: 0.6, residualScale: 0.4, residual2Scale: -1.5 },
      },
    ]),
  ];
}
