import type { OpId } from "@vd/kernels-native";

/** What an op's ONNX form does not take. */
export interface Refusal {
  /** What the form takes instead, as errors say it. */
  readonly expected: string;
  /** What is refused and why, as the op's page says it: a phrase without a full stop. */
  readonly reason: string;
}

/** What the forms refuse, by names of their own; {@link ONNX_FORMS} says which op refuses what. */
export const REFUSALS = {
  packedFreeSize: {
    expected: "fixed lengths of packed sequences",
    reason: "packed sequences whose length stays free: the numbers of their elements are constants of the model",
  },
  sightOfFreeSize: {
    expected: "fixed lengths of causal and local sequences",
    reason: "a causal limit or a window over a length that stays free: what is seen is a constant of the model",
  },
  thresholdOfFreeSize: {
    expected: "a fixed size of clips whose magnitudes have a quantile",
    reason: "dynamic thresholding of a clip whose size stays free: the quantile's rank is a constant of the model",
  },
} as const satisfies Record<string, Refusal>;

/** What is known of an op's ONNX form. */
export interface OnnxForm {
  /** The ONNX operations that its rows become, but for those of {@link MOVES}. */
  readonly nodes: readonly string[];
  /** What of the op has no ONNX form. */
  readonly refuses?: readonly Refusal[];
  /** What the form does in its own way: a phrase without a full stop. */
  readonly note?: string;
}

/** Operations that compute nothing: they move, select, repeat or convert elements. Any form may have them. */
export const MOVES: readonly string[] = [
  ...[
    "Cast",
    "Concat",
    "Expand",
    "Gather",
    "Identity",
    "Reshape",
    "Shape",
    "Slice",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
  ],
];

const CODES =
  "codes are numbers of the model's type that QuantizeLinear and DequantizeLinear with a scale of 1 have rounded, since the op " +
  "multiplies with 1 / scale where the standard divides";
const DEQUANTISED =
  "codes are multiplied with their scales before a product in float32, since runtimes may saturate sums of int8 products in 16 bits";

/** The ONNX form of every op. */
export const ONNX_FORMS: Partial<Readonly<Record<OpId, OnnxForm>>> = {
  attention: {
    nodes: [
      "Abs",
      "Add",
      "And",
      "Div",
      "Equal",
      "Floor",
      "Greater",
      "GreaterOrEqual",
      "Less",
      "LessOrEqual",
      "MatMul",
      "Max",
      "Mul",
      "Not",
      "ReduceLogSumExp",
      "ReduceMean",
      "ReduceSum",
      "Softmax",
      "Sqrt",
      "Sub",
      "Where",
    ],
    refuses: [REFUSALS.sightOfFreeSize, REFUSALS.packedFreeSize],
  },
  attention_backward: {
    nodes: [
      "Abs",
      "Add",
      "And",
      "Div",
      "Equal",
      "Exp",
      "Floor",
      "Greater",
      "GreaterOrEqual",
      "Less",
      "LessOrEqual",
      "MatMul",
      "Max",
      "Mul",
      "Not",
      "ReduceSum",
      "Sub",
      "Where",
    ],
    refuses: [REFUSALS.sightOfFreeSize, REFUSALS.packedFreeSize],
    note: "in float32 whatever the model's type",
  },
  attention_f8: { nodes: ["MatMul", "Mul", "Softmax"], note: DEQUANTISED },
  attention_f8_codes: {
    nodes: ["Add", "DequantizeLinear", "Div", "MatMul", "Mul", "QuantizeLinear", "Softmax"],
    note: DEQUANTISED,
  },
  attention_q8: {
    nodes: [
      "Abs",
      "Add",
      "Clip",
      "DequantizeLinear",
      "Div",
      "IsNaN",
      "MatMul",
      "Max",
      "Mul",
      "QuantizeLinear",
      "ReduceMax",
      "Softmax",
      "Where",
    ],
    note: "probabilities are not rounded, as in the definition",
  },
  batch_norm: { nodes: ["BatchNormalization", "Gelu", "Mul", "Relu", "Sigmoid"] },
  conv: {
    nodes: ["Add", "Conv", "ConvTranspose", "Gelu", "Mul", "Pad", "ReduceMean", "Relu", "Resize", "Sigmoid", "Sub"],
  },
  conv_q8: {
    nodes: ["Add", "Conv", "ConvTranspose", "DequantizeLinear", "Gelu", "Mul", "ReduceMean", "Relu", "Sigmoid", "Sub"],
    note: DEQUANTISED,
  },
  conv_q8_codes: {
    nodes: [
      "Add",
      "Clip",
      "Conv",
      "ConvTranspose",
      "DequantizeLinear",
      "Div",
      "IsNaN",
      "Mul",
      "QuantizeLinear",
      "Sigmoid",
      "Where",
    ],
    note: DEQUANTISED,
  },
  conv_winograd: {
    nodes: ["Add", "Conv", "Gelu", "Mul", "Relu", "Sigmoid", "Sub"],
    note: "a plain convolution: which products are saved is the runtime's affair",
  },
  copy: { nodes: [], note: "another name for the same values" },
  denoise_input: { nodes: ["Mul"] },
  depth_to_space: { nodes: [] },
  elementwise: {
    nodes: [
      "Abs",
      "Add",
      "Div",
      "Exp",
      "Gelu",
      "Log",
      "Max",
      "Min",
      "Mul",
      "Neg",
      "Reciprocal",
      "Relu",
      "Sigmoid",
      "Sqrt",
      "Sub",
      "Tanh",
    ],
  },
  frames_out: {
    nodes: ["Add", "Clip", "IsNaN", "Mul", "Round", "Where"],
    note: "levels are uint8 where they leave the model",
  },
  group_norm: { nodes: ["Add", "Gelu", "InstanceNormalization", "Mul", "Relu", "Sigmoid", "Sub"] },
  group_norm_conv: {
    nodes: ["Add", "Conv", "Gelu", "Mul", "ReduceMean", "Relu", "Sigmoid", "Sub"],
    note: "a norm and a convolution: what kernels keep out of memory is the runtime's affair",
  },
  group_norm_conv_q8: {
    nodes: [
      "Add",
      "Conv",
      "DequantizeLinear",
      "Div",
      "Gelu",
      "Mul",
      "QuantizeLinear",
      "ReduceMean",
      "Relu",
      "Sigmoid",
      "Sub",
    ],
    note: DEQUANTISED,
  },
  group_norm_q8: {
    nodes: [
      "Add",
      "Clip",
      "DequantizeLinear",
      "Div",
      "Gelu",
      "InstanceNormalization",
      "IsNaN",
      "Mul",
      "QuantizeLinear",
      "Sigmoid",
      "Sub",
      "Where",
    ],
    note: CODES,
  },
  group_norm_stats: { nodes: ["Add", "Mul", "Reciprocal", "ReduceMean", "Sqrt", "Sub"] },
  guide: { nodes: ["Add", "Mul", "Sub"] },
  layer_norm: {
    nodes: ["Add", "LayerNormalization", "Mul"],
    note: "ONNX Runtime takes the variance as a difference of squares, which is less exact where the mean is large",
  },
  layer_norm_linear: {
    nodes: ["Add", "Gelu", "Gemm", "LayerNormalization", "Mul", "Relu", "Sigmoid"],
    note: "a norm and a product, with what is said of layer_norm; what kernels keep out of memory is the runtime's affair",
  },
  layer_norm_linear_q8: {
    nodes: [
      "Add",
      "DequantizeLinear",
      "Div",
      "Gelu",
      "Gemm",
      "LayerNormalization",
      "Mul",
      "QuantizeLinear",
      "Relu",
      "Sigmoid",
    ],
    note: DEQUANTISED,
  },
  layer_norm_linear_q8_codes: {
    nodes: ["Add", "DequantizeLinear", "Div", "Gelu", "Gemm", "LayerNormalization", "Mul", "QuantizeLinear", "Sigmoid"],
    note: DEQUANTISED,
  },
  layer_norm_q8: {
    nodes: [
      "Abs",
      "Add",
      "Clip",
      "DequantizeLinear",
      "Div",
      "IsNaN",
      "LayerNormalization",
      "Max",
      "Mul",
      "QuantizeLinear",
      "ReduceMax",
      "Where",
    ],
    note: CODES,
  },
  layout_in: { nodes: ["Add", "Mul"] },
  layout_out: { nodes: ["Add", "Mul"] },
  linear: { nodes: ["Add", "Gelu", "Gemm", "Mul", "Relu", "Sigmoid"] },
  linear_q8: { nodes: ["Add", "DequantizeLinear", "Gelu", "Gemm", "Mul", "Pad", "Relu", "Sigmoid"], note: DEQUANTISED },
  linear_q8_codes: {
    nodes: [
      "Add",
      "Clip",
      "DequantizeLinear",
      "Div",
      "Gelu",
      "Gemm",
      "IsNaN",
      "Mul",
      "Pad",
      "QuantizeLinear",
      "Sigmoid",
      "Where",
    ],
    note: DEQUANTISED,
  },
  pointwise: { nodes: ["Add", "Gelu", "Mul", "Relu", "Sigmoid"] },
  pool: { nodes: ["AveragePool", "MaxPool"] },
  quantize: {
    nodes: [
      "Abs",
      "Add",
      "Clip",
      "DequantizeLinear",
      "Div",
      "IsNaN",
      "Max",
      "Mul",
      "Pad",
      "QuantizeLinear",
      "ReduceMax",
      "Where",
    ],
    note: CODES,
  },
  resize: { nodes: ["Resize"] },
  rms_norm: { nodes: ["Add", "Div", "Mul", "ReduceMean", "Sqrt"] },
  sampler_step: {
    nodes: [
      "Abs",
      "Add",
      "BitwiseXor",
      "Clip",
      "Cos",
      "Div",
      "Equal",
      "Greater",
      "IsNaN",
      "Less",
      "LessOrEqual",
      "Log",
      "MatMul",
      "Mod",
      "Mul",
      "Neg",
      "Range",
      "ReduceMin",
      "Sin",
      "Sqrt",
      "Sub",
      "TopK",
      "Where",
    ],
    refuses: [REFUSALS.thresholdOfFreeSize],
    note: "in float32 whatever the model's type; noise by philox as arithmetic on int64; NaN counts as ∞ among the magnitudes of thresholding",
  },
  space_to_depth: { nodes: [] },
  timestep_embedding: { nodes: ["Cos", "Mul", "Sin"] },
  token_embed: { nodes: ["Add"] },
};
