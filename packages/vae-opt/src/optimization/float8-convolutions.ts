import type { OpId } from "@vd/kernels-native";
import {
  type CallOptions,
  type ConvOptions,
  hasConvQ8,
  QuantizedWeights,
  type RecordCall,
  type RewriteCall,
  recordConvQ8,
  recordQuantize,
} from "@vd/tensor";

/** Convolutions of fewer channels stay as they are: the first and last ones, whose errors would be seen most. */
const LEAST_CHANNELS = 32;

const hasEnoughChannels = ({ weight }: ConvOptions) => Math.min(weight.dims[0]!, weight.dims[1]!) >= LEAST_CHANNELS;

/**
 * Returns how convolutions are recorded in 8-bit floats: activations with one scale for each call, found at run time, filters
 * with one each. Convolutions of few channels, and of kinds that have no 8-bit form, stay as they are. What a call computes at a
 * time (frames, tiles) decides its scale, so that pieces differ by the rounding of 8 bits.
 */
export function float8Convolutions(): RewriteCall {
  const dtype = "f8e4m3";
  const weights = new QuantizedWeights();
  return (op: OpId, options: CallOptions, record: RecordCall) => {
    const call = options as ConvOptions;
    if (op !== "conv" || !hasConvQ8(call) || !hasEnoughChannels(call)) return record(op, options);
    const codes = recordQuantize(record, call.x, { dtype, per: "tensor", name: `${call.name}.quantize` });
    return recordConvQ8(record, call, codes, weights.of(call.weight, { dtype }));
  };
}
