import type { OpId } from "@vd/kernels-native";
import { type CallOptions, pixels, type RecordCall, type RewriteCall, type Tensor, tokens } from "@vd/tensor";
import type { OptimizationSwitches } from "./switches";

type NormCall = CallOptions & { act?: string };
type ConvCall = CallOptions & { x: Tensor; upsample?: boolean };

/** A group norm, then its SiLU as an op of its own. */
function normThenSilu(call: NormCall, record: RecordCall): Tensor {
  const { out, ...rest } = call;
  const y = record("group_norm", { ...rest, act: "none" } as CallOptions);
  const [height, width] = y.dims.slice(2) as [number, number];
  const silu = { name: `${call.name}.silu`, a: tokens(y), act: "silu", out: out && tokens(out) };
  return pixels(record("pointwise", silu as CallOptions), height, width);
}

/** Nearest-2× upsampling as an op of its own, then the convolution. */
function upsampleThenConv(call: ConvCall, record: RecordCall): Tensor {
  const [height, width] = call.x.dims.slice(2) as [number, number];
  const grow = { name: `${call.name}.upsample`, x: call.x, height: 2 * height, width: 2 * width, mode: "nearest" };
  return record("conv", { ...call, x: record("resize", grow as CallOptions), upsample: false } as CallOptions);
}

/** Returns how calls are recorded where fusions are off; undefined if nothing changes. */
export function unfused({
  fusedSilu,
  fusedUpsample,
}: Pick<OptimizationSwitches, "fusedSilu" | "fusedUpsample">): RewriteCall | undefined {
  if (fusedSilu && fusedUpsample) return undefined;
  return (op: OpId, call: CallOptions, record: RecordCall) => {
    if (!fusedSilu && op === "group_norm" && (call as NormCall).act === "silu") return normThenSilu(call, record);
    if (!fusedUpsample && op === "conv" && (call as ConvCall).upsample)
      return upsampleThenConv(call as ConvCall, record);
    return record(op, call);
  };
}
