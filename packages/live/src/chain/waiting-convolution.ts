import {
  type CallOptions,
  type ConvOptions,
  convDims,
  emptyTensor,
  foldedNorm,
  normScale,
  type Quantized,
  type QuantizedWeight,
  type RecordCall,
  recordConvQ8,
  recordConvQ8Codes,
  type Storage,
  type Tensor,
} from "@vd/tensor";

/** A convolution in 8 bits with what it reads. */
export interface QuantizedConvolution {
  call: ConvOptions;
  codes: Quantized;
  weights: QuantizedWeight;
}

interface Waiting extends QuantizedConvolution {
  result: Tensor;
  yScale: Tensor;
}

const isTensor = (value: unknown): value is Tensor => typeof value === "object" && value !== null && "storage" in value;

/** The scale of the codes that a convolution may leave: known where nothing but an activation follows its batch norm, which says how large
 *  its results are. None of the activations makes a number larger. */
export function scaleOfResults({ act, bias, ...call }: ConvOptions): Tensor | undefined {
  const norm = bias && foldedNorm(bias);
  const { frameBias, residual, residual2, out, outputs, outScale = 1 } = call;
  const isPlain = ![frameBias, residual, residual2, out, outputs].some((each) => each !== undefined) && outScale === 1;
  return norm && isPlain && (act === "silu" || act === "none" || act === undefined)
    ? normScale(norm.weight, norm.bias)
    : undefined;
}

/** The last convolution of a graph in 8 bits, recorded when it is known whether the next call takes its result in 8 bits, which it then
 *  leaves by itself. */
export class WaitingConvolution {
  private waiting: Waiting | undefined;
  /** Those that left codes alone: whoever reads the numbers after all has them recorded once more. */
  private readonly inCodes = new Map<Storage, Waiting>();

  constructor(private readonly record: RecordCall) {}

  /** Records a convolution now or later; returns its result. */
  put(convolution: QuantizedConvolution): Tensor {
    const { call, codes, weights } = convolution;
    const yScale = scaleOfResults(call);
    if (!yScale) return recordConvQ8(this.record, call, codes, weights);
    const result = emptyTensor(convDims(call), call.x.dtype);
    this.waiting = { ...convolution, result, yScale };
    return result;
  }

  /** True if `take` gives codes of a tensor. */
  has(x: Tensor): boolean {
    const { waiting } = this;
    return waiting?.result.storage === x.storage && x.dims.every((size, i) => size === waiting.result.dims[i]);
  }

  /** Records the convolution that waits, whose whole result x is, with codes for a result. */
  take(x: Tensor): Quantized | undefined {
    const { waiting } = this;
    if (!waiting || !this.has(x)) return undefined;
    this.waiting = undefined;
    this.inCodes.set(waiting.result.storage, waiting);
    return recordConvQ8Codes(this.record, waiting.call, waiting.codes, waiting.weights, waiting.yScale);
  }

  /** Records what waits, with numbers for a result, and what a call reads of those that left codes alone. */
  recordBefore(call: CallOptions): void {
    this.finish();
    for (const { storage } of Object.values(call).filter(isTensor)) {
      const found = this.inCodes.get(storage);
      this.inCodes.delete(storage);
      if (found) this.write(found);
    }
  }

  /** Records what waits. */
  finish(): void {
    const { waiting } = this;
    this.waiting = undefined;
    if (waiting) this.write(waiting);
  }

  private write({ call, codes, weights, result }: Waiting): void {
    recordConvQ8(this.record, { ...call, out: result }, codes, weights);
  }
}
