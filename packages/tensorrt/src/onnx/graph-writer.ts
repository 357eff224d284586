import { ATTRIBUTE_TYPES, type AttributeProto, type ElementType, type NodeProto } from "./schema";
import type { WeightSource } from "./weight-source";

/** A node's attributes in plain values: whole numbers and their lists are integers, `float(x)` is a float. */
export type Attributes = Readonly<Record<string, number | string | readonly number[] | FloatAttribute>>;

/** A number that is stored as a float. */
export interface FloatAttribute {
  readonly float: number;
}

/** Marks an attribute as a float. */
export const float = (value: number): FloatAttribute => ({ float: value });

/** A constant of the graph. */
export interface Initializer {
  readonly name: string;
  readonly dims: readonly number[];
  readonly type: ElementType;
  /** The elements themselves, or where a checkpoint has them. */
  readonly data: Uint8Array | WeightSource;
}

/** One axis of a graph's input or output: its size, or the name of a size that is known at run time. */
export type Axis = number | string;

/** An input or output of the graph. */
export interface GraphValue {
  readonly name: string;
  readonly type: ElementType;
  readonly axes: readonly Axis[];
}

function attribute(name: string, value: Attributes[string]): AttributeProto {
  if (typeof value === "number") return { name, type: ATTRIBUTE_TYPES.int, i: value };
  if (typeof value === "string") return { name, type: ATTRIBUTE_TYPES.string, s: new TextEncoder().encode(value) };
  if ("float" in value) return { name, type: ATTRIBUTE_TYPES.float, f: value.float };
  return { name, type: ATTRIBUTE_TYPES.ints, ints: value };
}

/** Collects the nodes and constants of a graph; names are made unique, equal constants are stored once. */
export class GraphWriter {
  readonly nodes: NodeProto[] = [];
  readonly initializers = new Map<string, Initializer>();
  readonly inputs: GraphValue[] = [];
  readonly outputs: GraphValue[] = [];
  /** What new values are named after: the row that is being mapped. */
  scope = "";
  private readonly taken = new Map<string, number>();

  /** Adds a node with one result and returns the result's name. */
  node(opType: string, input: readonly string[], attributes: Attributes = {}, output?: string): string {
    const name = this.unique(`${this.scope}/${opType}`);
    const result = output ?? name;
    this.add(name, opType, input, attributes, [result]);
    return result;
  }

  /** Adds a node with two results of which the second is not used, and returns the first's name. */
  firstOfTwo(opType: string, input: readonly string[], attributes: Attributes = {}): string {
    const name = this.unique(`${this.scope}/${opType}`);
    this.add(name, opType, input, attributes, [name, this.unique(`${name}:unused`)]);
    return name;
  }

  private add(
    name: string,
    opType: string,
    input: readonly string[],
    attributes: Attributes,
    output: readonly string[],
  ): void {
    const list = Object.entries(attributes).map(([key, value]) => attribute(key, value));
    this.nodes.push({ name, opType, input, output, attribute: list });
  }

  /** Adds an input of the graph. */
  input(name: string, type: ElementType, axes: readonly Axis[]): string {
    this.taken.set(name, 0);
    this.inputs.push({ name, type, axes });
    return name;
  }

  /** Makes a value an output of the graph under a name of its own. */
  output(name: string, value: string, type: ElementType, axes: readonly Axis[]): void {
    this.node("Identity", [value], {}, name);
    this.outputs.push({ name, type, axes });
  }

  /** A constant list of whole numbers, 1-D. */
  ints(values: readonly number[]): string {
    const data = new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
    return this.constant(`ints[${values.join(",")}]`, [values.length], "int64", data);
  }

  /** A constant of floats; the name says what it is, equal ones are shared. */
  floats(name: string, values: Float32Array, dims: readonly number[]): string {
    return this.constant(name, dims, "float", new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }

  /** A named constant; one that is known under the same name is used again. */
  constant(name: string, dims: readonly number[], type: ElementType, data: Initializer["data"]): string {
    if (!this.initializers.has(name)) {
      this.taken.set(name, 0);
      this.initializers.set(name, { name, dims, type, data });
    }
    return name;
  }

  private unique(name: string): string {
    const count = this.taken.get(name);
    this.taken.set(name, (count ?? 0) + 1);
    return count === undefined ? name : this.unique(`${name}_${count}`);
  }
}
