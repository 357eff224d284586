import {
  type CallOptions,
  type ConvOptions,
  type Graph,
  hasConvQ8,
  hasLinearQ8,
  type LinearOptions,
  QuantizedWeights,
  recordConvQ8,
  recordLinearQ8,
  recordQuantize,
} from "@vd/tensor";

/** Channels from which on a product of 8 bits saves more than rounding costs. */
const LEAST_CHANNELS = 64;

/** Shared by all programs, so that each weight is rounded once. */
const WEIGHTS = new QuantizedWeights();
const DTYPE = "f8e4m3";

/** Records every further convolution and linear layer of a graph whose channels are many in float8, with a scale for each tensor that is found at
 *  run time. */
export function recordInFloat8(g: Graph): void {
  g.rewriteCalls((op, options, record) => {
    const isConv = op === "conv" && hasConvQ8(options as ConvOptions);
    if (!isConv && !(op === "linear" && hasLinearQ8(options as LinearOptions))) return record(op, options);
    const { x, weight, name } = options as ConvOptions & LinearOptions;
    if (Math.min(x.dims.at(-1)!, weight.dims[0]!) < LEAST_CHANNELS) return record(op, options as CallOptions);
    const rounded = WEIGHTS.of(weight, { dtype: DTYPE });
    const codes = recordQuantize(record, x, { dtype: DTYPE, per: "tensor", name: `${name}.rounded` });
    return isConv
      ? recordConvQ8(record, options as ConvOptions, codes, rounded)
      : recordLinearQ8(record, options as LinearOptions, codes, rounded);
  });
}
