import type { OpId } from "@vd/kernels-native";
import {
  type CallOptions,
  type QuantizedWeight,
  quantizeWeight,
  type RecordCall,
  type RewriteCall,
  reshape,
  type Storage,
  type Tensor,
  tokens,
} from "@vd/tensor";
import { type Codes, emptyTensor, WaitingNorms } from "./norms-before-convolutions";

/** Convolutions of fewer channels stay as they are: the first and last ones, whose errors would be seen most. */
const LEAST_CHANNELS = 32;

type ConvCall = CallOptions & {
  x: Tensor;
  weight: Tensor;
  stride?: readonly number[];
  padding?: readonly number[];
  upsample?: boolean;
  past?: Tensor;
  groups?: number;
  framePadding?: "zeros" | "replicate";
  transposed?: boolean;
};

/** True if there is an 8-bit convolution for a call: none upsamples, is transposed or grouped, or sees frames from elsewhere. */
function isPlain({ weight, upsample, past, groups = 1, framePadding = "zeros", transposed }: ConvCall): boolean {
  if (upsample || past || groups > 1 || framePadding !== "zeros" || transposed) return false;
  return Math.min(weight.dims[0]!, weight.dims[1]!) >= LEAST_CHANNELS;
}

/** Sizes of a convolution's result, [B,G,P,Q,K]. */
function resultDims({ x, weight, stride = [1, 1, 1], padding = [0, 0, 0, 0, 0, 0] }: ConvCall): number[] {
  const size = (axis: number) =>
    Math.floor(
      (x.dims[1 + axis]! + padding[2 * axis]! + padding[2 * axis + 1]! - weight.dims[2 + axis]!) / stride[axis]!,
    ) + 1;
  return [x.dims[0]!, size(0), size(1), size(2), weight.dims[0]!];
}

/** x in 8-bit floats with a scale that is found at run time. */
function quantized(x: Tensor, name: string | undefined, record: RecordCall): Codes {
  const scale = emptyTensor([1, 1, 1, 1], "f32");
  const codes = record("quantize", {
    ...{ name: `${name}.quantize`, x: tokens(x), per: "tensor" },
    ...{ out: emptyTensor(tokens(x).dims, "f8e4m3"), outputs: { scales: scale } },
  } as CallOptions);
  return { codes: reshape(codes, x.dims), scale };
}

/** Filters in 8-bit floats, each converted once. */
function float8Filters(): (weight: Tensor) => QuantizedWeight {
  const byStorage = new WeakMap<Storage, Map<number, QuantizedWeight>>();
  return (weight) => {
    const known = byStorage.get(weight.storage) ?? new Map<number, QuantizedWeight>();
    byStorage.set(weight.storage, known);
    const made = known.get(weight.byteOffset) ?? quantizeWeight(weight, { dtype: "f8e4m3" });
    known.set(weight.byteOffset, made);
    return made;
  };
}

/**
 * Returns how convolutions are recorded in 8-bit floats: filters with a scale each; activations that come from a norm are rounded
 * by it, with a scale that follows from its weights, others with one that is found at run time, for each call. Convolutions of few
 * channels, and of kinds that have no 8-bit form, stay as they are. What a call computes at a time (frames, tiles) decides a scale
 * that is found, so that pieces differ by the rounding of 8 bits.
 */
export function float8Convolutions(): RewriteCall {
  const filters = float8Filters();
  // Each graph has a way to record of its own, and norms of its own that wait.
  const byGraph = new WeakMap<RecordCall, WaitingNorms>();
  const waitingIn = (record: RecordCall): WaitingNorms => {
    const norms = byGraph.get(record) ?? new WaitingNorms();
    byGraph.set(record, norms);
    return norms;
  };
  return (op: OpId, call: CallOptions, record: RecordCall) => {
    const norms = waitingIn(record);
    if (op === "group_norm" && call.out === undefined) return norms.put(call, record);
    const known = op === "conv" && isPlain(call as ConvCall) ? norms.take((call as ConvCall).x) : undefined;
    const { x: _, ...others } = call as ConvCall;
    norms.recordBefore(known ? others : call);
    if (op !== "conv" || !isPlain(call as ConvCall)) return record(op, call);
    const { upsample, groups, framePadding, transposed, ...conv } = call as ConvCall;
    const { codes, scale } = known ?? quantized(conv.x, call.name, record);
    const out = call.out ?? emptyTensor(resultDims(conv), conv.x.dtype);
    return record("conv_q8", { ...conv, x: codes, xScale: scale, ...filters(conv.weight), out } as CallOptions);
  };
}
