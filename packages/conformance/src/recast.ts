import { type DType, OPS, type OpId } from "@vd/kernels-native";
import { type OpCase, type Operand, operandOf } from "@vd/kernels-native/contract";

/** Returns the case with its float operands in `dtype`, where the op allows it; undefined if it says types of its own or if
 *  nothing would change. */
export function recast(op: OpId, opCase: OpCase, dtype: DType): OpCase | undefined {
  const entries = Object.entries(opCase.inputs) as [string, Operand | readonly number[]][];
  const operands = entries.map(([name, given]) => [name, operandOf(given)] as const);
  if (operands.some(([, operand]) => operand.dtype === "f16" || operand.dtype === "bf16")) return undefined;
  let changed = 0;
  const inputs = operands.map(([name, operand]) => {
    const isFloat = operand.dtype === undefined || operand.dtype === "f32";
    const allowed: readonly DType[] = OPS[op].inputs[name as never]["dtype" as never];
    if (!isFloat || !allowed.includes(dtype)) return [name, operand];
    changed++;
    return [name, { ...operand, dtype }];
  });
  return changed === 0 ? undefined : ({ ...opCase, inputs: Object.fromEntries(inputs) } as OpCase);
}
