import { type AttrSpec, OPS, type OpDefinition } from "@vd/kernels-native";
import { slotsOf } from "@vd/kernels-native/contract";
import { decodeStored, packedBytes, type Row, type Tensor, toFloat16Array } from "@vd/tensor";
import type { GraphWriter } from "../onnx/graph-writer";
import { ELEMENT_TYPES, type ElementType } from "../onnx/schema";
import type { WeightType } from "../onnx/weight-source";
import { unmapped } from "./refusal";
import { Regions } from "./regions";
import { type FreeSize, Sizes } from "./sizes";
import { type ClipSizes, Value } from "./value";
import { WeightNames } from "./weight-names";

/** A recorded row with its operands and attributes by name. */
export interface NamedRow {
  readonly op: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, Tensor | undefined>>;
  /** Enums by their value, booleans as such, lists as lists, those of enums without what stands behind their end. */
  readonly attrs: Readonly<Record<string, NamedAttr>>;
  /** The first result. */
  readonly output: Tensor;
  /** All results that the row computes. */
  readonly outputs: Readonly<Record<string, Tensor | undefined>>;
}

type NamedAttr = number | string | boolean | readonly number[] | readonly string[];

function namedAttr(spec: AttrSpec, values: readonly number[]): NamedAttr {
  if (spec.kind === "ints" || spec.kind === "floats") return values;
  if (spec.kind === "enums") return values.filter((value) => value > 0).map((value) => spec.values[value]!);
  if (spec.kind === "enum") return spec.values[values[0]!]!;
  return spec.kind === "bool" ? values[0] === 1 : values[0]!;
}

/** Gives the positions of a row their names from the op's contract. */
export function nameRow(row: Row): NamedRow {
  const definition: OpDefinition = OPS[row.op];
  const inputs = Object.fromEntries(Object.keys(definition.inputs).map((name, i) => [name, row.inputs[i]]));
  const attrs: Record<string, NamedAttr> = {};
  let at = 0;
  for (const [name, spec] of Object.entries(definition.attrs)) {
    const length = slotsOf(spec);
    attrs[name] = namedAttr(spec, row.attrs.slice(at, at + length));
    at += length;
  }
  const outputs = Object.fromEntries(Object.keys(definition.outputs).map((name, i) => [name, row.outputs[i]]));
  return { op: row.op, name: row.name, inputs, attrs, output: row.outputs[0]!, outputs };
}

/** The first four sizes of a clip. dims: [B,F,H,W,C]. */
export const clipOf = ({ dims }: Tensor): ClipSizes => [dims[0]!, dims[1]!, dims[2]!, dims[3]!];

/** Tokens as a clip of one row per frame. dims: [B,F,S,C]. */
export const tokenClipOf = ({ dims }: Tensor): ClipSizes => [dims[0]!, dims[1]!, 1, dims[2]!];

const channelsOf = ({ dims }: Tensor): number => dims[dims.length - 1] ?? 1;

/** What the mapping of rows works with: values of the recording's tensors, and where nodes go. */
export class ExportContext {
  readonly sizes: Sizes;
  readonly weights: WeightNames;
  private readonly regions = new Regions<Value>();
  private readonly joined = new Map<string, Value>();
  private readonly written = new Set<Tensor>();

  constructor(
    readonly writer: GraphWriter,
    /** Element type of weights and activations. */
    readonly type: WeightType,
    free: readonly FreeSize[],
  ) {
    this.sizes = new Sizes(writer, free);
    this.weights = new WeightNames(writer, type);
  }

  /** A value that was computed as pixels or tokens. */
  rows(name: string, channels: number, endsInSize = false): Value {
    return Value.rows(this.writer, this.sizes, name, channels, endsInSize);
  }

  /** A value that was computed as pictures or clips. */
  picture(name: string, channels: number, form: "planes" | "clips", clip: ClipSizes): Value {
    return Value.picture(this.writer, this.sizes, name, channels, form, clip);
  }

  /**
   * What `tensor` holds now.
   *
   * @throws VdError `unsupported` where it cannot be traced to results
   */
  read(tensor: Tensor, row: string): Value {
    if (tensor.storage.kind === "weights") return this.constant(tensor);
    const found = this.regions.resolve(tensor, row);
    const channels = channelsOf(tensor);
    switch (found.kind) {
      case "whole":
        return found.value;
      case "regrouped":
        return this.rows(this.regroup(found.value.rows(), channels), channels);
      case "columns":
        return this.rows(this.slice(found.value.rows(), 1, found.begin, found.end), channels);
      case "regroupedColumns":
        return this.rows(
          this.slice(this.regroup(found.value.rows(), found.width), 1, found.begin, found.end),
          channels,
        );
      case "rowRange":
        return this.rows(this.slice(found.value.rows(), 0, found.begin, found.end), channels);
      case "sideBySide":
        return this.rows(this.concat(found.values, 1), channels);
      case "stacked":
        return this.rows(this.concat(found.values, 0), channels);
    }
  }

  /** True if something was noted for exactly this tensor. */
  hasWritten(tensor: Tensor): boolean {
    return this.written.has(tensor);
  }

  /** Notes that `tensor` now holds `value`. */
  write(tensor: Tensor, value: Value): void {
    this.written.add(tensor);
    this.regions.write(tensor, value);
  }

  /** An input of the model as the recording's tensor; name: an ONNX value of the tensor's own dimensions. Planes of a
   *  free width stay as they are: only a change of layout reads them. */
  writeInput(tensor: Tensor, name: string): void {
    const channels = channelsOf(tensor);
    const endsInSize = !this.sizes.isFixed(channels);
    const isTable = tensor.dims.length === 2 || endsInSize;
    this.write(tensor, this.rows(isTable ? name : this.regroup(name, channels), channels, endsInSize));
  }

  /** Two operands with their channels side by side, in pictures where the first was computed so; made once. */
  joinChannels(a: Tensor, b: Tensor | undefined, clip: ClipSizes, row: string): Value {
    const first = this.read(a, row);
    if (!b) return first;
    const second = this.read(b, row);
    const channels = channelsOf(a) + channelsOf(b);
    const form = first.native === "clips" ? "planes" : first.native;
    const parts = [first.as(form, clip), second.as(form, clip)];
    const known = this.joined.get(parts.join("|"));
    if (known) return known;
    const name = this.writer.node("Concat", parts, { axis: 1 });
    const value = form === "rows" ? this.rows(name, channels) : this.picture(name, channels, form, clip);
    this.joined.set(parts.join("|"), value);
    return value;
  }

  /** name as [·, width]. */
  regroup(name: string, width: number): string {
    return this.writer.node("Reshape", [name, this.writer.ints([-1, width])]);
  }

  /** A number of the activations' type. */
  scalar(value: number): string {
    const data = this.type === "float" ? Float32Array.of(value) : toFloat16Array(Float32Array.of(value));
    return this.writer.constant(`${this.type}[${value}]`, [], this.type, new Uint8Array(data.buffer));
  }

  /** As many equal numbers of the activations' type, [length]. */
  filled(value: number, length: number): string {
    const values = new Float32Array(length).fill(value);
    const data = this.type === "float" ? values : toFloat16Array(values);
    const name = `${this.type}[${value}·${length}]`;
    return this.writer.constant(name, [length], this.type, new Uint8Array(data.buffer));
  }

  /** Elements of an operand in memory order under `dims`, in float32 whatever the model's type. */
  wideGrid(tensor: Tensor, row: string, dims: readonly number[] = tensor.dims): string {
    return this.widened(this.read(tensor, row).grid(dims));
  }

  /** An operand that the contract takes for a constant: a weight under a name of its own, or what was computed. */
  parameter(tensor: Tensor, suffix: string, row: string, dims: readonly number[] = tensor.dims): string {
    if (tensor.storage.kind === "weights") return this.weights.add(`${row}.${suffix}`, tensor, dims);
    return this.read(tensor, row).grid(dims, 0);
  }

  /** The same in float32 whatever the model's type. */
  wideParameter(tensor: Tensor, suffix: string, row: string): string {
    if (tensor.storage.kind === "weights") return this.weights.addWide(`${row}.${suffix}`, tensor);
    return this.widened(this.read(tensor, row).grid(tensor.dims, 0));
  }

  /** A float32 number. */
  wideScalar(value: number): string {
    return this.writer.floats(`number[${value}]`, Float32Array.of(value), []);
  }

  /** name in float32, if it is not. */
  widened(name: string): string {
    return this.type === "float" ? name : this.cast(name, "float");
  }

  /** A float32 value in the activations' type. */
  narrowed(name: string): string {
    return this.type === "float" ? name : this.cast(name, "float16");
  }

  /** name in another element type. */
  cast(name: string, to: ElementType): string {
    return this.writer.node("Cast", [name], { to: ELEMENT_TYPES[to] });
  }

  /** Elements from `begin` on and before `end` of one axis, `step` apart. */
  part(name: string, axis: number, begin: number, end: number, step = 1): string {
    return this.writer.node("Slice", [name, ...[begin, end, axis, step].map((number) => this.writer.ints([number]))]);
  }

  private slice(name: string, axis: number, begin: number, end: number): string {
    const at = (size: number) => (axis === 0 ? this.sizes.scalar(size) : this.writer.ints([size]));
    return this.writer.node("Slice", [name, at(begin), at(end), this.writer.ints([axis])]);
  }

  private concat(values: readonly Value[], axis: number): string {
    return this.writer.node(
      "Concat",
      values.map((value) => value.rows()),
      { axis },
    );
  }

  /** Numbers that the recording made itself; where a free size is their count they are 0, 1, 2, …: frame numbers. */
  private constant(tensor: Tensor): Value {
    const { storage, byteOffset, dims, dtype } = tensor;
    const { buffer, byteOffset: base } = storage.place!;
    const stored = buffer.readSync(new Uint8Array(packedBytes(dims, dtype)), base + byteOffset);
    const values = decodeStored(stored, dtype);
    const channels = channelsOf(tensor);
    if (dtype === "i32") {
      const whole = this.writer.constant(`whole[${new Int32Array(stored.buffer)}]`, dims, "int32", stored);
      return this.rows(this.regroup(whole, channels), channels);
    }
    if (dims.every((dim) => this.sizes.isFixed(dim))) {
      const name = this.writer.floats(`constant[${values.join(",")}]`, values, dims);
      return this.rows(this.regroup(name, channels), channels);
    }
    if (!values.every((value, i) => value === i))
      throw unmapped("constant", storage.name, "numbers that do not depend on a free size, or 0, 1, 2, …", "others");
    const scalar = (name: string) => this.writer.node("Squeeze", [name, this.writer.ints([0])]);
    const count = scalar(this.sizes.scalar(values.length));
    const [zero, one] = [scalar(this.writer.ints([0])), scalar(this.writer.ints([1]))];
    const numbers = this.cast(this.writer.node("Range", [zero, count, one]), "float");
    return this.rows(numbers, channels, true);
  }
}
