import { VdError } from "@vd/kernels-native";

/** What an op's ONNX form does not take. */
export interface Refusal {
  /** What the form takes instead, as errors say it. */
  readonly expected: string;
  /** What is refused and why, as the op's page says it: a phrase without a full stop. */
  readonly reason: string;
}

/** What the forms refuse, by a name of its own; {@link OnnxForm.refuses} says which op refuses what. */
export const REFUSALS = {
  packedFreeSize: {
    expected: "fixed lengths of packed sequences",
    reason: "packed sequences whose length stays free: their numbers are constants of the model",
  },
  sightOfFreeSize: {
    expected: "fixed lengths of causal and local sequences",
    reason: "a causal limit or a window over a length that stays free: what is seen is a constant of the model",
  },
  thresholdOfFreeSize: {
    expected: "a fixed size of clips whose magnitudes have a quantile",
    reason: "dynamic thresholding of a clip whose size stays free: the quantile's rank is a constant of the model",
  },
} as const satisfies Record<string, Refusal>;

/** The error of a row that has no ONNX form. */
export function unmapped(op: string, name: string, expected: string, got: string): VdError {
  const hint = "Nothing was written: a model without this row would compute something else.";
  return new VdError({ code: "unsupported", where: `export] [${name}] [${op}`, expected, got, hint });
}

/** The error of a row that its op's form refuses. */
export const refused = (row: { op: string; name: string }, { expected }: Refusal, got: string): VdError =>
  unmapped(row.op, row.name, expected, got);
