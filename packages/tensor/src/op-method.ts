import type { OpId } from "@vd/kernels-native";
import type { GraphOps } from "./graph-ops.generated";
import type { CallOptions, Tensor } from "./tensor";

/** Name of the method of {@link GraphOps} that records an op: `group_norm` → `groupNorm`. */
export const opMethod = (op: OpId): keyof GraphOps =>
  op.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) as keyof GraphOps;

/** Records a call of an op that is known by its id only, and returns its first result. @throws VdError from the op's checks. */
export function recordOp(g: GraphOps, op: OpId, options: CallOptions): Tensor {
  const method = g[opMethod(op)] as unknown as (this: GraphOps, options: CallOptions) => Tensor;
  return method.call(g, options);
}
