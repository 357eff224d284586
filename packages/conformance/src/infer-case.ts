import type { OpId } from "@vd/kernels-native";
import type { OpCase } from "@vd/kernels-native/contract";
import { type CallOptions, layoutGraph, recordOp } from "@vd/tensor";
import { operandsOf } from "./check-results";

/** Returns the graph of one case and its cost, as the contract infers them. Nothing runs. */
export function inferCase(op: OpId, opCase: OpCase) {
  return layoutGraph((g) => {
    const inputs = operandsOf(opCase).map(({ name, operand }) => [name, g.input(name, operand.dims, operand.dtype)]);
    recordOp(g, op, { ...opCase.attrs, ...Object.fromEntries(inputs), name: opCase.name } as CallOptions);
  });
}
