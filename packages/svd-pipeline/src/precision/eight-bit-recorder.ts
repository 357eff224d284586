import { type OpId, VdError } from "@vd/kernels-native";
import {
  type ActivationQuantization,
  type AttentionOptions,
  attentionScale,
  type CallOptions,
  type ConvOptions,
  changedWeight,
  emptyTensor,
  type Graph,
  type GroupNormOptions,
  gatedScale,
  isNormedLinear,
  LARGEST_CODES,
  type LayerNormOptions,
  type LinearOptions,
  layerNormScale,
  normScale,
  projectionScale,
  type Quantized,
  type QuantizedType,
  type QuantizedWeights,
  type RecordCall,
  recordAttentionF8,
  recordAttentionF8Codes,
  recordAttentionQ8,
  recordConvQ8,
  recordLinearQ8,
  recordLinearQ8Codes,
  recordNormedLinearQ8,
  recordNormedLinearQ8Codes,
  recordQuantize,
  type ScaledLayerNorm,
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
  /** Where codes are made: by what makes the numbers, wherever its scale can be known, or behind LayerNorms alone and else in passes of
   *  their own. */
  codesFrom: "producers" | "passes";
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

/** The result of a call that can wait: a norm, or a linear layer with a gate. Undefined for others. */
function waitingResult(op: OpId, options: CallOptions): Tensor | undefined {
  if (options.out || options.outputs) return undefined;
  if (op === "group_norm") {
    const { x, weight } = options as GroupNormOptions;
    return emptyTensor([...x.dims.slice(0, 4), weight.dims[0]!], x.dtype);
  }
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
  /** What a call that follows may want in 8 bits. */
  private waiting: Producer | undefined;

  constructor(
    private readonly model: EightBitModel,
    private readonly g: Graph,
    private readonly record: RecordCall,
  ) {}

  /** Records a call in its place, or keeps it until one that reads it, waits too or may write what it reads. Returns its first result. */
  add(op: OpId, call: CallOptions): Tensor {
    const { x, q } = call as { x?: Tensor; q?: Tensor };
    const result = waitingResult(op, call) ?? this.projectionResult(op, call) ?? this.attentionResult(op, call);
    const isRead = this.waiting !== undefined && this.waiting.result.storage === (x ?? q)?.storage;
    if (isRead) this.waiting = undefined;
    else if (result || call.out || call.outputs) this.finish();
    if (!result) return this.noted(op, call, this.emit(op, call));
    this.waiting = { op, call, result, isWritten: false, codes: new Map() };
    this.producers.set(result.storage, this.waiting);
    return this.noted(op, call, result);
  }

  /** Records what still waits, which nobody took. */
  finish(): void {
    if (this.waiting && this.waiting.codes.size === 0 && !this.waiting.isWritten) this.write(this.waiting);
    this.waiting = undefined;
  }

  private noted(op: OpId, call: CallOptions, result: Tensor): Tensor {
    this.kinds.note(result, op, call);
    return result;
  }

  /** Records a call. behind: what channels of its result are divided by. */
  private emit(op: OpId, call: CallOptions, behind?: Fold): Tensor {
    const isLinear = op === "linear";
    const kind = this.kinds.of(op, call, {
      areCodesPassed: isLinear && this.comesInCodes(call as LinearOptions),
      isNormInside: isLinear && !behind && this.normInside(call as LinearOptions) !== undefined,
      areOperandsCodes: op === "attention" && this.projectionOf(call as AttentionOptions) !== undefined,
    });
    const type = kind ? this.typeOf(kind, call.name!) : "full";
    if (kind && type !== "full") return this.emitInEightBits(kind, type, call, behind);
    const plain = op === "linear" ? this.withOwnNorm(call as LinearOptions) : call;
    for (const operand of Object.values(plain).filter(isTensor)) this.writeProducer(operand);
    return this.record(op, behind ? this.divided(plain, behind) : plain);
  }

  /** Calls the norm that a layer reads anew, right before the layer, where the graph may make one op of both; the layer is then its only reader. */
  private withOwnNorm(call: LinearOptions): LinearOptions {
    const norm = this.producers.get(call.x.storage);
    if (norm?.op !== "layer_norm" || norm.isWritten || norm.codes.size > 0) return call;
    if (!isNormedLinear({ norm: norm.call as LayerNormOptions, linear: call })) return call;
    const { x: _, ...others } = call as CallOptions & LinearOptions;
    // What these write would have the graph record a norm that waits.
    for (const operand of Object.values(others).filter(isTensor)) this.writeProducer(operand);
    return { ...call, x: this.record("layer_norm", norm.call) };
  }

  /** The norm that a layer in float8 normalises its tokens by, instead of reading what that leaves; undefined where it cannot. */
  private normInside(linear: LinearOptions): ScaledLayerNorm | undefined {
    const producer = this.producers.get(linear.x.storage);
    if (producer?.op !== "layer_norm" || producer.isWritten || producer.codes.size > 0) return undefined;
    const norm = producer.call as LayerNormOptions;
    const isFloat8 = this.typeOf("normLinear", linear.name!) === "f8e4m3" && this.model.codesFrom === "producers";
    const isSmoothed = this.model.smoothing.foldOf(linear.name!, "f8e4m3") !== undefined;
    if (!isFloat8 || isSmoothed || !isNormedLinear({ norm, linear })) return undefined;
    return norm.weight && norm.bias && (norm as ScaledLayerNorm);
  }

  private typeOf(kind: LayerKind, layer: string): LayerType {
    const { plan, choosesTypes, scales } = this.model;
    const { i8, f8e4m3 } = (choosesTypes && scales.get(layer)) || {};
    if (plan[kind] === "full" || !i8 || !f8e4m3) return plan[kind];
    return i8.error <= f8e4m3.error ? "i8" : "f8e4m3";
  }

  private emitInEightBits(kind: LayerKind, dtype: QuantizedType, call: CallOptions, behind: Fold | undefined): Tensor {
    const { record } = this;
    if (kind === "attention") return this.attentionInEightBits(call as AttentionOptions, dtype);
    const { x: _, ...others } = call as CallOptions & { x: Tensor };
    for (const operand of Object.values(others).filter(isTensor)) this.writeProducer(operand);
    const norm = kind === "normLinear" && !behind && this.normInside(call as LinearOptions);
    if (norm) return this.withNormInside(call as LinearOptions, norm);
    const { layer, codes, weights } = this.operandsOf(kind, dtype, call as LinearOptions & ConvOptions, behind);
    if (kind === "temporalConv" || kind === "spatialConv") return recordConvQ8(record, layer, codes, weights);
    return recordLinearQ8(record, layer, codes, weights);
  }

  /** Attention over codes that the layer before leaves, or that rounds what it reads. */
  private attentionInEightBits(call: AttentionOptions, dtype: QuantizedType): Tensor {
    const projection = dtype === "f8e4m3" ? this.projectionOf(call) : undefined;
    if (projection) return recordAttentionF8(this.record, call, this.codesOfProjection(projection));
    for (const operand of [call.q, call.k, call.v]) this.writeProducer(operand);
    return recordAttentionQ8(this.record, call, dtype);
  }

  /** The result of a layer that may leave queries, keys and values in float8: one behind a norm, without a gate. Undefined for others. */
  private projectionResult(op: OpId, call: CallOptions): Tensor | undefined {
    const { x, weight, act, residual, out } = call as LinearOptions;
    if (op !== "linear" || act || residual || out || this.model.codesFrom === "passes") return undefined;
    const norm = this.producers.get(x.storage);
    if (norm?.op !== "layer_norm" || !(norm.call as LayerNormOptions).weight) return undefined;
    const isFloat8 = this.typeOf("normLinear", call.name!) === "f8e4m3";
    return isFloat8 ? emptyTensor([...x.dims.slice(0, -1), weight.dims[0]!], x.dtype) : undefined;
  }

  /** The layer whose result has an attention's queries, keys and values, where it still waits and can leave them in float8. */
  private projectionOf({ q, k, v }: AttentionOptions): Producer | undefined {
    const producer = this.producers.get(q.storage);
    const isWhole = [k, v].every(({ storage }) => storage === q.storage);
    if (!isWhole || producer?.op !== "linear" || producer.isWritten || isGated((producer.call as LinearOptions).act))
      return undefined;
    return this.kindOfCodes(producer.call as LinearOptions) === "normLinear" ? producer : undefined;
  }

  /** The result of attention that may leave it in float8 for the layer behind it. Undefined for others. */
  private attentionResult(op: OpId, call: CallOptions): Tensor | undefined {
    const { q, out } = call as AttentionOptions;
    return op === "attention" && !out && this.isOverCodes(call as AttentionOptions)
      ? emptyTensor(q.dims, q.dtype)
      : undefined;
  }

  /** Whether attention is over codes that the layer before leaves. */
  private isOverCodes(call: AttentionOptions): boolean {
    if (!this.projectionOf(call)) return false;
    const place = { areCodesPassed: false, isNormInside: false, areOperandsCodes: true };
    return this.kinds.of("attention", call, place) === "attention" && this.typeOf("attention", call.name!) === "f8e4m3";
  }

  /** The kind of a layer, given that what it leaves are codes. */
  private kindOfCodes(linear: LinearOptions): LayerKind | undefined {
    return this.kinds.of("linear", linear, { areCodesPassed: true, isNormInside: false, areOperandsCodes: false });
  }

  private codesOfProjection({ call, result }: Producer): Quantized {
    const linear = call as LinearOptions & ConvOptions;
    const { weight, bias } = linear;
    const { weight: normWeight, bias: normBias } = this.producers.get(linear.x.storage)!.call as LayerNormOptions;
    const yScale = projectionScale({ normWeight: normWeight!, normBias, weight, bias });
    const norm = this.normInside(linear);
    if (norm) {
      this.writeProducer(norm.x);
      const weights = this.model.weights.of(weight, { dtype: "f8e4m3" }, "tensor");
      return recordNormedLinearQ8Codes(this.record, linear, norm, weights, yScale);
    }
    const { layer, codes, weights } = this.operandsOf("normLinear", "f8e4m3", linear, undefined, true);
    const source = { ...layer, x: { ...linear.x, dtype: result.dtype } };
    return recordLinearQ8Codes(this.record, source, codes, weights, yScale);
  }

  private withNormInside(linear: LinearOptions, norm: ScaledLayerNorm): Tensor {
    this.writeProducer(norm.x);
    const weights = this.model.weights.of(linear.weight, { dtype: "f8e4m3" });
    return recordNormedLinearQ8(this.record, linear, norm, weights);
  }

  /** A layer with its input and weights in 8 bits, and its bias as smoothing changes it. */
  private operandsOf(
    kind: LayerKind,
    dtype: QuantizedType,
    call: LinearOptions & ConvOptions,
    behind: Fold | undefined,
    leavesCodes = isGated(call.act),
  ) {
    const { model } = this;
    const own = this.isFoldable(call.x) ? model.smoothing.foldOf(call.name!, dtype) : undefined;
    if (own) requireChannels(call, own);
    const name = `${call.name}.quantize`;
    const codes = this.codesOf(call.x, { name, dtype, fold: own, ...this.scaleOf(kind, call.name!, dtype) });
    const rounding = { dtype, change: model.smoothing.weight(own, behind) };
    const isShared = leavesCodes && this.sharesScales(codes, dtype);
    const weights = model.weights.of(call.weight, rounding, isShared ? "tensor" : "row");
    const bias = behind && call.bias ? changedWeight(call.bias, model.smoothing.rows(behind)) : call.bias;
    return { layer: { ...call, bias }, codes, weights };
  }

  /** Whether the rows of the weight of a layer that leaves codes have one scale: of float8, which loses nothing by it; the layer then
   *  multiplies all sums with one number. Others have their columns' scales for nothing. */
  private sharesScales({ scales }: Quantized, dtype: QuantizedType): boolean {
    return dtype === "f8e4m3" && scales.dims.every((size) => size === 1);
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

  /** What makes a tensor gives in 8 bits by itself, instead of a tensor that `quantize` reads again; undefined where it cannot. */
  private ownCodes(producer: Producer, wanted: WantedCodes): Quantized | undefined {
    if (producer.op === "layer_norm") return wanted.per === "row" ? this.tokenNormCodes(producer, wanted) : undefined;
    if (this.model.codesFrom === "passes") return undefined;
    if (producer.op === "attention") return this.attentionCodes(producer, wanted);
    return producer.op === "group_norm" ? this.groupNormCodes(producer, wanted) : this.gatedCodes(producer, wanted);
  }

  /** Of floats with the scale that follows from the norm's weights, else with one for each token. */
  private tokenNormCodes({ call, result }: Producer, { dtype, fold }: WantedCodes): Quantized {
    const out = emptyTensor(result.dims, dtype);
    const { weight, bias, scale, shift } = call as LayerNormOptions;
    const isPlain = !fold && !scale && !shift && this.model.codesFrom === "producers";
    if (dtype === "f8e4m3" && isPlain && weight && bias) {
      const yScale = layerNormScale(weight, bias);
      return { codes: this.record("layer_norm_q8", { ...call, yScale, out } as CallOptions), scales: yScale };
    }
    const scales = emptyTensor([...result.dims.slice(0, -1), 1], "f32");
    const places = { out, outputs: { scales } };
    const codes = this.record("layer_norm_q8", { ...(fold ? this.divided(call, fold) : call), ...places });
    return { codes, scales };
  }

  /** With a scale that is known, or for floats follows from the norm's weights. */
  private groupNormCodes({ call, result }: Producer, { dtype, scale, fold }: WantedCodes): Quantized | undefined {
    const { weight, bias } = call as GroupNormOptions;
    const yScale = scale ?? (dtype === "f8e4m3" ? normScale(weight, bias) : undefined);
    if (!yScale || fold) return undefined;
    for (const operand of Object.values(call).filter(isTensor)) this.writeProducer(operand);
    const places = { yScale, out: emptyTensor(result.dims, dtype) };
    return { codes: this.record("group_norm_q8", { ...call, ...places } as CallOptions), scales: yScale };
  }

  /** With a scale that is known, or follows from that of the values. */
  private attentionCodes({ call }: Producer, { dtype, scale }: WantedCodes): Quantized | undefined {
    const attention = call as AttentionOptions;
    const projection = dtype === "f8e4m3" ? this.projectionOf(attention) : undefined;
    if (!projection) return undefined;
    const values = this.codesOfProjection(projection);
    return recordAttentionF8Codes(this.record, attention, values, scale ?? attentionScale(values.scales));
  }

  /** Of a gated layer that is computed in the same type. */
  private gatedCodes({ call, result }: Producer, { dtype, scale, fold }: WantedCodes): Quantized | undefined {
    const gated = call as LinearOptions & ConvOptions;
    const yScale = this.isGatedIn(dtype, gated) ? (scale ?? this.gatedScaleOf(gated, { dtype, fold })) : undefined;
    if (!yScale) return undefined;
    const { x: _, ...others } = gated as CallOptions & { x: Tensor };
    for (const operand of Object.values(others).filter(isTensor)) this.writeProducer(operand);
    const norm = fold ? undefined : this.normInside(gated);
    if (norm) {
      this.writeProducer(norm.x);
      const rounded = this.model.weights.of(gated.weight, { dtype }, "tensor");
      return recordNormedLinearQ8Codes(this.record, gated, norm, rounded, yScale);
    }
    const { layer, codes, weights } = this.operandsOf("normLinear", dtype, gated, fold);
    return recordLinearQ8Codes(
      this.record,
      { ...layer, x: { ...gated.x, dtype: result.dtype } },
      codes,
      weights,
      yScale,
    );
  }

  /** Whether a gated layer, given what it leaves are codes, is one behind a norm in 8 bits of that type. */
  private isGatedIn(dtype: QuantizedType, gated: LinearOptions): boolean {
    return (
      isGated(gated.act) && this.kindOfCodes(gated) === "normLinear" && this.typeOf("normLinear", gated.name!) === dtype
    );
  }

  /** The scale of floats that follows from the weights; undefined where those are smoothed or the norm has none. */
  private gatedScaleOf(
    { x, weight, bias, act }: LinearOptions,
    { dtype, fold }: Pick<WantedCodes, "dtype" | "fold">,
  ): Tensor | undefined {
    const norm = this.producers.get(x.storage);
    if (dtype !== "f8e4m3" || fold || norm?.op !== "layer_norm" || !(act === "geglu" || act === "swiglu"))
      return undefined;
    const { weight: normWeight, bias: normBias } = norm.call as LayerNormOptions;
    return normWeight && gatedScale({ normWeight, normBias, weight, bias, act });
  }

  /** Whether a linear layer's input, which a gated one or attention makes, will come in codes that this leaves. */
  private comesInCodes({ name, x }: LinearOptions): boolean {
    const gated = this.producers.get(x.storage);
    if (gated?.op === "attention" && !gated.isWritten)
      return this.typeOf("attentionOutput", name!) === "f8e4m3" && this.isOverCodes(gated.call as AttentionOptions);
    if (this.model.codesFrom === "passes" || gated?.op !== "linear") return false;
    const dtype = this.typeOf("gatedLinear", name!);
    if (dtype === "full" || !this.isGatedIn(dtype, gated.call as LinearOptions)) return false;
    const fold = this.model.smoothing.foldOf(name!, dtype);
    const { scale } = this.scaleOf("gatedLinear", name!, dtype);
    return scale !== undefined || this.gatedScaleOf(gated.call as LinearOptions, { dtype, fold }) !== undefined;
  }

  /** Returns a tensor in 8 bits: the one place where activations are rounded, by what makes them where that can. */
  private codesOf(x: Tensor, { fold, ...wanted }: WantedCodes): Quantized {
    const producer = this.producers.get(x.storage);
    const key = `${wanted.dtype} ${wanted.per} ${wanted.scale !== undefined} ${fold?.key}`;
    const known = producer?.codes.get(key);
    if (known) return known;
    const made =
      (producer && this.ownCodes(producer, { fold, ...wanted })) ?? this.roundedCodes(x, producer, { fold, ...wanted });
    producer?.codes.set(key, made);
    return made;
  }

  private roundedCodes(x: Tensor, producer: Producer | undefined, { fold, ...wanted }: WantedCodes): Quantized {
    const source = producer && fold ? this.emit(producer.op, this.elsewhere(producer), fold) : this.written(x);
    return recordQuantize(this.record, source, wanted);
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

  /** True if what made a tensor can divide its channels on the way: no activation follows its weights. */
  private isFoldable({ storage }: Tensor): boolean {
    const producer = this.producers.get(storage);
    return producer !== undefined && producer.op !== "group_norm" && producer.op !== "attention";
  }

  /** The same call with channels of its result divided. */
  private divided(call: CallOptions, fold: Fold): CallOptions {
    const { weight, bias } = call as LinearOptions;
    const rows = this.model.smoothing.rows(fold);
    const changed = (tensor: Tensor | undefined) => tensor && changedWeight(tensor, rows);
    return { ...call, weight: changed(weight), bias: changed(bias) } as CallOptions;
  }
}
