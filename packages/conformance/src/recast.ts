import { type DType, OPS, type OpId } from "@vd/kernels-native";
import { type OpCase, type Operand, operandOf } from "@vd/kernels-native/contract";

/** True where the first operand has a type with a scale, which no result takes over. */
const isQuantized = (dtype: DType | undefined) => dtype === "i8" || dtype === "f8e4m3";

/** Returns the case with its float operands in `dtype`, where the op allows it, and the result of quantized operands too;
 *  undefined if it says types of its own or if nothing would change. */
export function recast(op: OpId, opCase: OpCase, dtype: DType): OpCase | undefined {
  const entries = Object.entries(opCase.inputs) as [string, Operand | readonly number[]][];
  const operands = entries.map(([name, given]) => [name, operandOf(given)] as const);
  if (opCase.outType === "f16" || opCase.outType === "bf16") return undefined;
  if (operands.some(([, operand]) => operand.dtype === "f16" || operand.dtype === "bf16")) return undefined;
  let changed = 0;
  const inputs = operands.map(([name, operand]) => {
    const isFloat = operand.dtype === undefined || operand.dtype === "f32";
    const allowed: readonly DType[] = OPS[op].inputs[name as never]["dtype" as never];
    if (!isFloat || !allowed.includes(dtype)) return [name, operand];
    changed++;
    return [name, { ...operand, dtype }];
  });
  const outTypes: readonly DType[] = Object.values(OPS[op].outputs)[0]!.dtype;
  const asked = opCase.outType ?? "f32";
  const narrowed = asked === "f32" && isQuantized(operands[0]?.[1].dtype) && outTypes.includes(dtype);
  if (changed === 0 && !narrowed) return undefined;
  return { ...opCase, inputs: Object.fromEntries(inputs), ...(narrowed ? { outType: dtype } : {}) } as OpCase;
}
