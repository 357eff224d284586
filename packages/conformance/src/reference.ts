import { type DType, OBJECT, OPS, type OpId, oneOfThese, requireArgument } from "@vd/kernels-native";
import type { AttrValue, OpDefinition } from "@vd/kernels-native/contract";
import { type Plain, type PlainResults, plainCall, REFERENCES } from "@vd/kernels-native/references";

const OP = oneOfThese(Object.keys(OPS));

/** Computes an op in float64 by its reference. Attributes that are not given have their defaults; operands that are
 *  undefined are absent. resultType: of the first result, for ops that round to it by their definition. Returns results by
 *  the contract's names. @throws VdError `attr` for an op that is not known, and for what are no operands and no attributes */
export function computeReference(
  op: OpId,
  operands: Readonly<Record<string, Plain | undefined>>,
  attrs: Readonly<Record<string, AttrValue | undefined>> = {},
  resultType?: DType,
): PlainResults {
  requireArgument("computeReference op", op, OP);
  requireArgument("computeReference operands", operands, OBJECT);
  requireArgument("computeReference attrs", attrs, OBJECT);
  const specs: OpDefinition["attrs"] = OPS[op].attrs;
  const defaults = Object.entries(specs).map(([name, spec]) => [name, spec.default]);
  const present = Object.entries(operands).filter((entry): entry is [string, Plain] => entry[1] !== undefined);
  return REFERENCES[op](
    plainCall(Object.fromEntries(present), { ...Object.fromEntries(defaults), ...attrs }, resultType),
  );
}
