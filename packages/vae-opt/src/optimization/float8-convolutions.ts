import {
  type CallOptions,
  type ConvOptions,
  emptyTensor,
  type GroupNormOptions,
  hasConvQ8,
  hasUpsamplingConvQ8,
  isNormedOverFrames,
  normScale,
  type Quantized,
  QuantizedWeights,
  recordConvQ8,
  recordNormedConvQ8,
  recordQuantize,
  type TakeConvolution,
  type WaitingNorm,
} from "@vd/tensor";
import type { OptimizationSwitches } from "./switches";

/** Convolutions of fewer channels stay as they are: the first and last ones, whose errors would be seen most. */
const LEAST_CHANNELS = 32;

/** Records a norm as codes, with the scale that follows from its weights. */
function recordNormQ8({ call: { out: _, ...call }, record }: WaitingNorm, dims: readonly number[]): Quantized {
  const scales = normScale(call.weight, call.bias);
  const options = { ...call, yScale: scales, out: emptyTensor(dims, "f8e4m3") } as CallOptions;
  return { codes: record("group_norm_q8", options), scales };
}

const hasEnoughChannels = ({ weight }: ConvOptions) => Math.min(weight.dims[0]!, weight.dims[1]!) >= LEAST_CHANNELS;

/** Filters that are converted once for the whole process. */
const weights = new QuantizedWeights();

/**
 * Returns how convolutions are recorded in 8-bit floats: filters with a scale each; activations that come from a norm are rounded
 * by it, with a scale that follows from its weights, others with one that is found at run time, for each call. Those that upsample
 * become transposed ones of the same results, whose filters are folded before they are rounded. Convolutions of few channels, and of
 * kinds that have no 8-bit form, stay as they are. With `fusedNorm` those over frames which can normalise and round by themselves. What a call
 * computes at a time (frames, tiles) decides a scale that is found, so that pieces differ by the rounding of 8 bits.
 */
export function takeFloat8({ fusedNorm }: Pick<OptimizationSwitches, "fusedNorm">): TakeConvolution {
  const dtype = "f8e4m3";
  return (call, norms, record) => {
    const upsamples = hasUpsamplingConvQ8(call);
    if (!(upsamples || hasConvQ8(call)) || !hasEnoughChannels(call)) return undefined;
    const waiting = norms.find(call.x);
    const isInside = fusedNorm && waiting && isNormedOverFrames(call, waiting.call as GroupNormOptions);
    const norm = norms.take(call.x);
    const { x: _, ...others } = call;
    norms.recordBefore((norm ? others : call) as CallOptions);
    if (norm && isInside) return recordNormedConvQ8(record, call, norm, weights.of(call.weight, { dtype }));
    const rounded = norm && recordNormQ8(norm, call.x.dims);
    const codes = rounded ?? recordQuantize(record, call.x, { dtype, per: "tensor", name: `${call.name}.quantize` });
    const filters = upsamples ? weights.ofUpsampling(call.weight, { dtype }) : weights.of(call.weight, { dtype });
    return recordConvQ8(record, call, codes, filters);
  };
}
