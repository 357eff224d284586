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
  type RewriteCall,
  recordConvQ8,
  recordLinearQ8,
  recordQuantize,
  type Tensor,
  type WaitingNorm,
  type WaitingNorms,
  withWaitingNorms,
} from "@vd/tensor";
import { scaleOfResults, WaitingConvolution } from "./waiting-convolution";

/** Channels from which on 8 bits save more than a product of its own needs. */
const LEAST_CHANNELS = 64;
/** Operations for each number of the input from which on a product saves more than the pass costs that rounds its input. By estimate, not
 *  measured: a pass takes 5 to 9 us, and a convolution of the reference saves as much from 768 channels on. */
const LEAST_WORK = 12_000;
/** Convolutions in a row that gain by one pass, where the first leaves codes for the next. */
const CONVOLUTIONS_OF_PASS = 3;

/** What is in float8. */
export interface Float8Options {
  /** {@link LEAST_WORK}; 0 has every wide layer in float8. */
  leastWork?: number;
  /** Whether convolutions leave codes for those behind them. Default true. */
  passesCodes?: boolean;
}

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

const countOf = (dims: readonly number[]) => dims.reduce((count, size) => count * size, 1);

/** Operations of a layer for each number that it reads. */
function workOf({ weight, stride = [1, 1, 1] }: Pick<ConvOptions, "weight" | "stride">): number {
  return (2 * countOf(weight.dims)) / weight.dims[1]! / countOf(stride);
}

/** Records a norm that rounds what it gives, with a scale for each token. */
function normedCodes({ call, record }: WaitingNorm, { dims }: Tensor): Quantized {
  const scales = emptyTensor([...dims.slice(0, -1), 1], "f32");
  const places = { out: emptyTensor(dims, DTYPE), outputs: { scales } };
  return { codes: record("layer_norm_q8", { ...call, ...places }), scales };
}

/** Records the layers of one graph in float8 where they gain by it. */
class Float8Recorder {
  private readonly waiting: WaitingConvolution;

  constructor(
    private readonly record: RecordCall,
    private readonly options: Required<Float8Options>,
  ) {
    this.waiting = new WaitingConvolution(record);
  }

  /** Records a layer; undefined for what stays as it is. */
  take(op: OpId, call: CallOptions, norms: WaitingNorms): Tensor | undefined {
    if (isWide(op, call))
      return op === "conv"
        ? this.takeConvolution(call as ConvOptions, norms)
        : this.takeLinear(call as LinearOptions, norms);
    this.waiting.recordBefore(call);
    return undefined;
  }

  /** Records what a call that is recorded later reads. */
  recordBefore(call: CallOptions): void {
    this.waiting.recordBefore(call);
  }

  finish(): void {
    this.waiting.finish();
  }

  private takeConvolution(call: ConvOptions, norms: WaitingNorms): Tensor | undefined {
    const { record, waiting } = this;
    const { passesCodes } = this.options;
    const known = passesCodes ? waiting.take(call.x) : undefined;
    const { x: _, ...others } = call;
    waiting.recordBefore((known ? others : call) as CallOptions);
    const run = passesCodes && scaleOfResults(call) ? CONVOLUTIONS_OF_PASS : 1;
    if (!known && !this.paysPass(run * workOf(call))) return undefined;
    norms.recordBefore((known ? others : call) as CallOptions);
    const weights = WEIGHTS.of(call.weight, { dtype: DTYPE });
    const codes =
      known ?? recordQuantize(record, call.x, { dtype: DTYPE, per: "tensor", name: `${call.name}.rounded` });
    return passesCodes ? waiting.put({ call, codes, weights }) : recordConvQ8(record, call, codes, weights);
  }

  private takeLinear(call: LinearOptions, norms: WaitingNorms): Tensor | undefined {
    const { record } = this;
    this.waiting.recordBefore(call as CallOptions);
    const { x, ...others } = call;
    const norm = norms.take(x);
    if (!norm && !this.paysPass(workOf(call))) return undefined;
    norms.recordBefore((norm ? others : call) as CallOptions);
    const codes = norm
      ? normedCodes(norm, x)
      : recordQuantize(record, x, { dtype: DTYPE, per: "row", name: `${call.name}.rounded` });
    return recordLinearQ8(record, call, codes, WEIGHTS.of(call.weight, { dtype: DTYPE }));
  }

  private paysPass(work: number): boolean {
    return work >= this.options.leastWork;
  }
}

/** Records every further convolution and linear layer of a graph whose channels are many in float8, where it gains by that. Norms and
 *  convolutions leave codes for the layer behind them where they can; what else a layer reads is rounded by a launch before it, with a scale that
 *  is found at run time: one for each tensor that a convolution reads, one for each token of a linear layer. */
export function recordInFloat8(g: Graph, { leastWork = LEAST_WORK, passesCodes = true }: Float8Options = {}): void {
  let recorder: Float8Recorder | undefined;
  const withNorms = withWaitingNorms("layer_norm", (op, options, norms, record) => {
    recorder ??= new Float8Recorder(record, { leastWork, passesCodes });
    return recorder.take(op, options, norms);
  });
  const rewrite: RewriteCall = (op, options, record) => {
    if (op === "layer_norm") recorder?.recordBefore(options);
    return withNorms(op, options, record);
  };
  rewrite.finish = (record) => {
    recorder?.finish();
    withNorms.finish?.(record);
  };
  g.rewriteCalls(rewrite);
}
