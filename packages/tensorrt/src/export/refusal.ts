import { VdError } from "@vd/kernels-native";
import type { Refusal } from "./ops/forms";

/** The error of a row that has no ONNX form. */
export function unmapped(op: string, name: string, expected: string, got: string): VdError {
  const hint = "Nothing was written: a model without this row would compute something else.";
  return new VdError({ code: "unsupported", where: `export] [${name}] [${op}`, expected, got, hint });
}

/** The error of a row that its op's form refuses. */
export const refused = (row: { op: string; name: string }, { expected }: Refusal, got: string): VdError =>
  unmapped(row.op, row.name, expected, got);
