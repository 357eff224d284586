import { having, requireArgument, requireFields } from "@vd/kernels-native";
import type { Graph } from "../graph";
import { requireTensor, reshape, type Tensor, tokens } from "../tensor";
import { type QuantizedType, quantizeWeight } from "../weights/quantized-weight";
import type { Weights } from "../weights/weights";
import type { ConvCall, ConvConfig } from "./conv";
import { CONV, LINEAR, MAYBE, QUANTIZATION, requireLayer } from "./layer";
import type { LinearConfig } from "./linear";
import type { EpilogueOptions, Module } from "./module";

/** Numbers in 8 bits with what they are to be multiplied with. */
export interface Quantized {
  codes: Tensor;
  /** [1,1,1,1], [B,F,S,1] or [B,F,S,C/128 rounded up]. */
  scales: Tensor;
}

/** How activations become 8 bits. */
export interface ActivationQuantization {
  /** Default f8e4m3. */
  dtype?: QuantizedType;
  /** What has a scale of its own: the tensor, a token, or 128 channels of one. Default row. */
  per?: "tensor" | "row" | "block";
  /** A scale that is known, as from calibration; default: the largest magnitude decides, at run time. */
  scale?: Tensor | undefined;
  /** The row's name. */
  name?: string;
}

/** A graph that rounds. */
const GRAPH = having("a graph", ["quantize", "empty"]);

/** Rounds tokens to 8 bits. x: [B,F,S,C]. Source: https://arxiv.org/abs/2209.05433. */
export function quantize(g: Graph, x: Tensor, options: ActivationQuantization = {}): Quantized {
  requireArgument("quantize g", g, GRAPH);
  requireTensor("quantize x", x);
  requireFields("quantize", options, QUANTIZATION);
  const { dtype = "f8e4m3", per = "row", scale, name } = options;
  const [b, f, s, c] = x.dims as [number, number, number, number];
  const dims = per === "tensor" ? [1, 1, 1, 1] : [b, f, s, per === "row" ? 1 : Math.ceil(c / 128)];
  const scales = scale ?? g.empty(dims, "f32");
  const outputs = scale ? {} : { outputs: { scales } };
  return { codes: g.quantize({ name, x, scale, per, out: g.empty(x.dims, dtype), ...outputs }), scales };
}

/** An 8-bit layer: its type, and scales of activations that are known. */
export interface QuantizedConfig {
  /** Default f8e4m3. */
  dtype?: QuantizedType;
  /** The scale of activations from calibration, [1,1,1,1]; default: found at run time. */
  scale?: Tensor;
}

const IN_8_BITS = { dtype: QUANTIZATION.dtype, scale: QUANTIZATION.scale, blocks: MAYBE.flag };

/** A linear layer in 8 bits: weights with a scale for each row, or each 128 channels of one (`blocks`), tokens likewise. x:
 *  [B,F,S,cin] → [B,F,S,cout] in the type of x. Source: https://arxiv.org/abs/2209.05433, https://arxiv.org/abs/2412.19437. */
export function linearQ8(
  w: Weights,
  config: LinearConfig & QuantizedConfig & { blocks?: boolean },
): Module<[x: Tensor, epilogue?: EpilogueOptions]> {
  requireLayer("linearQ8", w, config, { ...LINEAR, ...IN_8_BITS });
  const { cin, cout, bias = true, dtype = "f8e4m3", scale, blocks = false } = config;
  const weights = quantizeWeight(w.tensor("weight", [cout, cin]), { dtype, per: blocks ? "block" : "row" });
  const shift = bias ? w.tensor("bias", [cout]) : undefined;
  const per = scale ? "tensor" : blocks ? "block" : "row";
  return (g, x, epilogue = {}) => {
    const { codes, scales } = quantize(g, x, { dtype, per, scale, name: `${w.path}.quantize` });
    const out = epilogue.out ?? g.empty([...x.dims.slice(0, -1), cout], x.dtype);
    return g.linearQ8({ name: w.path, x: codes, xScale: scales, ...weights, bias: shift, ...epilogue, out });
  };
}

/** A convolution in 8 bits: filters with a scale each, activations with one. x: [B,F,H,W,cin] → [B,F',H',W',cout] in the type of x;
 *  upsampling is not for it. Source: https://arxiv.org/abs/2209.05433. */
export function convQ8(
  w: Weights,
  config: Omit<ConvConfig, "upsample"> & QuantizedConfig,
): Module<[x: Tensor, call?: ConvCall]> {
  requireLayer("convQ8", w, config, { ...CONV, ...IN_8_BITS });
  const { cin, cout, kernel, stride = [1, 1, 1], bias = true, dtype = "f8e4m3", scale } = config;
  const { flat = kernel[0] === 1 } = config;
  const [t, r, s] = kernel;
  const half = (size: number) => Math.floor(size / 2);
  const around = config.padding ?? [half(t), half(t), half(r), half(r), half(s), half(s)];
  const stored = w.tensor("weight", flat ? [cout, cin, r, s] : [cout, cin, t, r, s]);
  const weights = quantizeWeight({ ...stored, dims: [cout, cin, t, r, s] }, { dtype });
  const shift = bias ? w.tensor("bias", [cout]) : undefined;
  return (g, x, call = {}) => {
    const name = `${w.path}.quantize`;
    const { codes, scales } = quantize(g, tokens(x), { dtype, per: "tensor", scale, name });
    const padding = call.padding ?? around;
    const size = (axis: number) =>
      Math.floor((x.dims[1 + axis]! + padding[2 * axis]! + padding[2 * axis + 1]! - kernel[axis]!) / stride[axis]!) + 1;
    const out = call.out ?? g.empty([x.dims[0]!, size(0), size(1), size(2), cout], x.dtype);
    const shared = { ...weights, bias: shift, stride, ...call, padding, out };
    return g.convQ8({ name: w.path, x: reshape(codes, x.dims), xScale: scales, ...shared });
  };
}
