import { countOf, type OpId } from "@vd/kernels-native";
import {
  type CallOptions,
  elementBytes,
  makeStorage,
  packedTensor,
  type QuantizedWeight,
  quantizeWeight,
  type RecordCall,
  type RewriteCall,
  reshape,
  type Storage,
  type Tensor,
  tokens,
} from "@vd/tensor";

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

const emptyTensor = (dims: readonly number[], dtype: Tensor["dtype"]): Tensor =>
  packedTensor(makeStorage("arena", countOf(dims) * elementBytes(dtype), "arena"), dims, dtype);

/** Sizes of a convolution's result, [B,G,P,Q,K]. */
function resultDims({ x, weight, stride = [1, 1, 1], padding = [0, 0, 0, 0, 0, 0] }: ConvCall): number[] {
  const size = (axis: number) =>
    Math.floor(
      (x.dims[1 + axis]! + padding[2 * axis]! + padding[2 * axis + 1]! - weight.dims[2 + axis]!) / stride[axis]!,
    ) + 1;
  return [x.dims[0]!, size(0), size(1), size(2), weight.dims[0]!];
}

/**
 * Returns how convolutions are recorded in 8-bit floats: activations with one scale for each call, found at run time, filters
 * with one each. Convolutions of few channels, and of kinds that have no 8-bit form, stay as they are. What a call computes at a
 * time (frames, tiles) decides its scale, so that pieces differ by the rounding of 8 bits.
 */
export function float8Convolutions(): RewriteCall {
  const byStorage = new WeakMap<Storage, Map<number, QuantizedWeight>>();
  const quantized = (weight: Tensor): QuantizedWeight => {
    const known = byStorage.get(weight.storage) ?? new Map<number, QuantizedWeight>();
    byStorage.set(weight.storage, known);
    const made = known.get(weight.byteOffset) ?? quantizeWeight(weight, { dtype: "f8e4m3" });
    known.set(weight.byteOffset, made);
    return made;
  };
  return (op: OpId, call: CallOptions, record: RecordCall) => {
    if (op !== "conv" || !isPlain(call as ConvCall)) return record(op, call);
    const { upsample, groups, framePadding, transposed, ...conv } = call as ConvCall;
    const { x } = conv;
    const scales = emptyTensor([1, 1, 1, 1], "f32");
    const codes = record("quantize", {
      ...{ name: `${call.name}.quantize`, x: tokens(x), per: "tensor" },
      ...{ out: emptyTensor(tokens(x).dims, "f8e4m3"), outputs: { scales } },
    } as CallOptions);
    const out = call.out ?? emptyTensor(resultDims(conv), x.dtype);
    return record("conv_q8", {
      ...conv,
      ...{ x: reshape(codes, x.dims), xScale: scales, ...quantized(conv.weight), out },
    } as CallOptions);
  };
}
