import { having, OPS, type OpId, requireArgument, shown, VdError } from "@vd/kernels-native";
import type { GraphOps } from "./graph-ops.generated";
import { nearestNames } from "./nearest-names";
import type { CallOptions, Tensor } from "./tensor";

/** Name of the method of {@link GraphOps} that records an op: `group_norm` → `groupNorm`. */
export const opMethod = (op: OpId): keyof GraphOps =>
  op.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) as keyof GraphOps;

/** Records a call of an op that is known by its id only, and returns its first result.
 *  @throws VdError `attr` for an id that no op has, and from the op's checks. */
export function recordOp(g: GraphOps, op: OpId, options: CallOptions): Tensor {
  if (!Object.hasOwn(OPS, op)) {
    const hint = `Nearest: ${nearestNames(String(op), new Set(Object.keys(OPS))).join(", ")}.`;
    throw new VdError({ code: "attr", where: "recordOp", expected: "the id of an op", got: shown(op), hint });
  }
  requireArgument("recordOp g", g, having("a graph", [opMethod(op)]));
  const method = g[opMethod(op)] as unknown as (this: GraphOps, options: CallOptions) => Tensor;
  return method.call(g, options);
}
