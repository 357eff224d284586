import type { OpId } from "@vd/kernels-native";
import {
  type CallOptions,
  type ConvOptions,
  emptyTensor,
  type Graph,
  hasConvQ8,
  hasLinearQ8,
  type LinearOptions,
  type Quantized,
  QuantizedWeights,
  type RecordCall,
  recordConvQ8,
  recordLinearQ8,
  recordQuantize,
  type Tensor,
  type WaitingNorm,
  withWaitingNorms,
} from "@vd/tensor";

/** Channels from which on a product of 8 bits saves more than rounding costs. */
const LEAST_CHANNELS = 64;

/** Shared by all programs, so that each weight is rounded once. */
const WEIGHTS = new QuantizedWeights();
const DTYPE = "f8e4m3";

/** True for a layer with an 8-bit form whose channels are many. */
function isWide(op: OpId, options: CallOptions): boolean {
  const has =
    op === "conv" ? hasConvQ8(options as ConvOptions) : op === "linear" && hasLinearQ8(options as LinearOptions);
  if (!has) return false;
  const { x, weight } = options as LinearOptions;
  return Math.min(x.dims.at(-1)!, weight.dims[0]!) >= LEAST_CHANNELS;
}

/** Records a norm that rounds what it gives, with a scale for each token. */
function normedCodes({ call, record }: WaitingNorm, { dims }: Tensor): Quantized {
  const scales = emptyTensor([...dims.slice(0, -1), 1], "f32");
  const places = { out: emptyTensor(dims, DTYPE), outputs: { scales } };
  return { codes: record("layer_norm_q8", { ...call, ...places }), scales };
}

/** The tokens of a linear layer in 8 bits: by the norm that makes them, or by a launch of their own. */
const tokenCodes = (record: RecordCall, x: Tensor, norm: WaitingNorm | undefined, name: string): Quantized =>
  norm ? normedCodes(norm, x) : recordQuantize(record, x, { dtype: DTYPE, per: "row", name });

/** Records every further convolution and linear layer of a graph whose channels are many in float8, with scales that are found at run
 *  time: one for each tensor that a convolution reads, one for each token of a linear layer. */
export function recordInFloat8(g: Graph): void {
  g.rewriteCalls(
    withWaitingNorms("layer_norm", (op, options, norms, record) => {
      if (!isWide(op, options)) return undefined;
      const { x, ...others } = options as ConvOptions & LinearOptions;
      const norm = op === "linear" ? norms.take(x) : undefined;
      norms.recordBefore(norm ? (others as CallOptions) : options);
      const rounded = WEIGHTS.of(others.weight, { dtype: DTYPE });
      const name = `${others.name}.rounded`;
      if (op === "linear")
        return recordLinearQ8(record, options as LinearOptions, tokenCodes(record, x, norm, name), rounded);
      const codes = recordQuantize(record, x, { dtype: DTYPE, per: "tensor", name });
      return recordConvQ8(record, options as ConvOptions, codes, rounded);
    }),
  );
}
