import { type OpId, VdError } from "@vd/kernels-native";
import {
  type ActivationQuantization,
  type AttentionOptions,
  type CallOptions,
  type ConvOptions,
  changedWeight,
  emptyTensor,
  type Graph,
  LARGEST_CODES,
  type LayerNormOptions,
  type LinearOptions,
  type Quantized,
  type QuantizedType,
  type QuantizedWeights,
  type RecordCall,
  recordAttentionQ8,
  recordConvQ8,
  recordLinearQ8,
  recordQuantize,
  type Storage,
  type Tensor,
} from "@vd/tensor";
import { isGated, type LayerKind, LayerKinds, type LayerType, type PrecisionPlan } from "./layer-kinds";
import type { Fold, ScaleTable, Smoothing } from "./layer-scales";

/** What decides how a model is recorded in 8 bits; weights and changes are shared by all graphs. */
export interface EightBitModel {
  plan: PrecisionPlan;
  /** Where a layer's errors in both types are known, the type of the smaller one takes the place of the plan's. */
  choosesTypes: boolean;
  scales: ScaleTable;
  /** Scales of `scales` take the place of those that are found at run time. */
  usesStaticScales: boolean;
  smoothing: Smoothing;
  weights: QuantizedWeights;
}

/** A call that is recorded when it is known whether its result is wanted as it is, or in 8 bits. */
interface Producer {
  op: OpId;
  call: CallOptions;
  result: Tensor;
  isWritten: boolean;
  codes: Map<string, Quantized>;
}

/** What a layer wants of the tensor that it takes. */
interface WantedCodes extends ActivationQuantization {
  dtype: QuantizedType;
  fold?: Fold | undefined;
}

const isTensor = (value: unknown): value is Tensor => typeof value === "object" && value !== null && "storage" in value;

/** The result of a call that can wait: a LayerNorm, or a linear layer with a gate. Undefined for others. */
function waitingResult(op: OpId, options: CallOptions): Tensor | undefined {
  if (options.out || options.outputs) return undefined;
  if (op === "layer_norm") {
    const { x, weight } = options as LayerNormOptions;
    return weight && emptyTensor(x.dims, x.dtype);
  }
  if (op !== "linear" || !isGated((options as LinearOptions).act)) return undefined;
  const { x, weight } = options as LinearOptions;
  return emptyTensor([...x.dims.slice(0, -1), weight.dims[0]! / 2], x.dtype);
}

/** Throws for a table that was written by hand, or cut off. */
function requireChannels({ name, weight }: LinearOptions, { exponents }: Fold): void {
  const [expected, got] = [weight.dims[1]!, exponents.length];
  if (expected !== got)
    throw new VdError({
      code: "weights",
      where: `calibration] [${name}`,
      expected: `${expected} exponents`,
      got: `${got}`,
    });
}

/** Records the calls of one graph with some layers in 8 bits. */
export class EightBitRecorder {
  private readonly kinds = new LayerKinds();
  private readonly producers = new WeakMap<Storage, Producer>();
  /** What the next call may want in 8 bits. */
  private waiting: Producer | undefined;

  constructor(
    private readonly model: EightBitModel,
    private readonly g: Graph,
    private readonly record: RecordCall,
  ) {}

  /** Records a call in its place, or keeps it until the next one. Returns its first result. */
  add(op: OpId, call: CallOptions): Tensor {
    const { x } = call as { x?: Tensor };
    if (this.waiting?.result.storage !== x?.storage) this.finish();
    this.waiting = undefined;
    const result = waitingResult(op, call);
    if (!result) return this.noted(op, call, this.emit(op, call));
    this.waiting = { op, call, result, isWritten: false, codes: new Map() };
    this.producers.set(result.storage, this.waiting);
    return this.noted(op, call, result);
  }

  /** Records what still waits, which nobody took. */
  finish(): void {
    if (this.waiting && this.waiting.codes.size === 0) this.write(this.waiting);
    this.waiting = undefined;
  }

  private noted(op: OpId, call: CallOptions, result: Tensor): Tensor {
    this.kinds.note(result, op, call);
    return result;
  }

  /** Records a call. behind: what channels of its result are divided by. */
  private emit(op: OpId, call: CallOptions, behind?: Fold): Tensor {
    const kind = this.kinds.of(op, call);
    const type = kind ? this.typeOf(kind, call.name!) : "full";
    if (kind && type !== "full") return this.emitInEightBits(kind, type, call, behind);
    for (const operand of Object.values(call).filter(isTensor)) this.writeProducer(operand);
    return this.record(op, behind ? this.divided(call, behind) : call);
  }

  private typeOf(kind: LayerKind, layer: string): LayerType {
    const { plan, choosesTypes, scales } = this.model;
    const { i8, f8e4m3 } = (choosesTypes && scales.get(layer)) || {};
    if (plan[kind] === "full" || !i8 || !f8e4m3) return plan[kind];
    return i8.error <= f8e4m3.error ? "i8" : "f8e4m3";
  }

  private emitInEightBits(kind: LayerKind, dtype: QuantizedType, call: CallOptions, behind: Fold | undefined): Tensor {
    const { record, model } = this;
    const { x: _, ...others } = call as CallOptions & { x: Tensor };
    for (const operand of Object.values(kind === "attention" ? call : others).filter(isTensor))
      this.writeProducer(operand);
    if (kind === "attention") return recordAttentionQ8(record, call as AttentionOptions, dtype);
    const layer = call as LinearOptions & ConvOptions;
    const own = this.isFoldable(layer.x) ? model.smoothing.foldOf(layer.name!, dtype) : undefined;
    if (own) requireChannels(layer, own);
    const name = `${layer.name}.quantize`;
    const codes = this.codesOf(layer.x, { name, dtype, fold: own, ...this.scaleOf(kind, layer.name!, dtype) });
    const weights = model.weights.of(layer.weight, { dtype, change: model.smoothing.weight(own, behind) });
    if (kind === "temporalConv" || kind === "spatialConv") return recordConvQ8(record, layer, codes, weights);
    const bias = behind && layer.bias ? changedWeight(layer.bias, model.smoothing.rows(behind)) : layer.bias;
    return recordLinearQ8(record, { ...layer, bias }, codes, weights);
  }

  /** Which scales a layer's input has: those of tokens where a norm gives them, else a known one of the tensor; found at run time without. */
  private scaleOf(kind: LayerKind, layer: string, dtype: QuantizedType): ActivationQuantization {
    const isConv = kind === "temporalConv" || kind === "spatialConv";
    const known = this.model.usesStaticScales ? this.model.scales.get(layer)?.[dtype] : undefined;
    const per = kind === "normLinear" || !(isConv || known) ? "row" : "tensor";
    if (!known || per === "row") return { per };
    return {
      per,
      scale: this.g.constant(Float32Array.of(Math.max(known.largest / LARGEST_CODES[dtype], 2 ** -126)), [1, 1, 1, 1]),
    };
  }

  /** What a LayerNorm gives in 8 bits by itself, instead of a tensor that `quantize` reads again; undefined for other producers. */
  private normedCodes(
    { op, call, result }: Producer,
    { dtype }: WantedCodes,
    fold: Fold | undefined,
  ): Quantized | undefined {
    if (op !== "layer_norm") return undefined;
    const scales = emptyTensor([...result.dims.slice(0, -1), 1], "f32");
    const places = { out: emptyTensor(result.dims, dtype), outputs: { scales } };
    const codes = this.record("layer_norm_q8", { ...(fold ? this.divided(call, fold) : call), ...places });
    return { codes, scales };
  }

  /** Returns a tensor in 8 bits: the one place where activations are rounded, by what makes them where that can. */
  private codesOf(x: Tensor, { fold, ...wanted }: WantedCodes): Quantized {
    const producer = this.producers.get(x.storage);
    const key = `${wanted.dtype} ${wanted.per} ${wanted.scale !== undefined} ${fold?.key}`;
    const known = producer?.codes.get(key);
    if (known) return known;
    const normed = producer && wanted.per === "row" ? this.normedCodes(producer, wanted, fold) : undefined;
    if (normed) {
      producer!.codes.set(key, normed);
      return normed;
    }
    const source = producer && fold ? this.emit(producer.op, this.elsewhere(producer), fold) : this.written(x);
    const made = recordQuantize(this.record, source, wanted);
    producer?.codes.set(key, made);
    return made;
  }

  private elsewhere({ call, result }: Producer): CallOptions {
    return { ...call, out: emptyTensor(result.dims, result.dtype) };
  }

  private written(x: Tensor): Tensor {
    this.writeProducer(x);
    return x;
  }

  private writeProducer({ storage }: Tensor): void {
    const producer = this.producers.get(storage);
    if (producer && !producer.isWritten) this.write(producer);
  }

  private write(producer: Producer): void {
    producer.isWritten = true;
    this.emit(producer.op, { ...producer.call, out: producer.result });
  }

  /** True if what made a tensor can divide its channels on the way. */
  private isFoldable({ storage }: Tensor): boolean {
    return this.producers.has(storage);
  }

  /** The same call with channels of its result divided. */
  private divided(call: CallOptions, fold: Fold): CallOptions {
    const { weight, bias } = call as LinearOptions;
    const rows = this.model.smoothing.rows(fold);
    const changed = (tensor: Tensor | undefined) => tensor && changedWeight(tensor, rows);
    return { ...call, weight: changed(weight), bias: changed(bias) } as CallOptions;
  }
}
