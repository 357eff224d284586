import { type AttrSpec, OPS, type OpId } from "@vd/kernels-native";
import { slotsOf } from "@vd/kernels-native/contract";
import type { Row } from "../row";
import type { Tensor } from "../tensor";

/** Bytes that kernels load at once: views that begin between two such blocks take other kernels. */
const VECTOR_BYTES = 16;

/** An attribute and where its values begin in a row. */
interface PlacedAttr {
  name: string;
  spec: AttrSpec;
  at: number;
}

/** What the keys of one op are made of. */
interface KeyParts {
  inputs: readonly string[];
  outputs: readonly string[];
  attrs: readonly PlacedAttr[];
}

/** Keys are made for every row whenever a plan is loaded, so what can be known once is. */
const partsByOp = new Map<OpId, KeyParts>();
const keys = new WeakMap<Row, string>();

/** What decides which kernel variant suits a row, as a short stable text: the op, types, dimensions and pitches of the
 *  operands that are there, and attributes that are not floats, as far as they differ from their defaults. Names,
 *  addresses and values of floats play no part, so that a table serves every checkpoint of an architecture. */
export function rowKey(row: Row): string {
  let key = keys.get(row);
  if (key === undefined) {
    key = makeKey(row);
    keys.set(row, key);
  }
  return key;
}

function partsOf(op: OpId): KeyParts {
  let parts = partsByOp.get(op);
  if (!parts) {
    const { inputs, outputs, attrs } = OPS[op];
    let at = 0;
    const placed: PlacedAttr[] = [];
    for (const [name, spec] of Object.entries<AttrSpec>(attrs)) {
      if (spec.kind !== "float" && spec.kind !== "floats") placed.push({ name, spec, at });
      at += slotsOf(spec);
    }
    parts = { inputs: Object.keys(inputs), outputs: Object.keys(outputs), attrs: placed };
    partsByOp.set(op, parts);
  }
  return parts;
}

function makeKey(row: Row): string {
  const { inputs, outputs, attrs } = partsOf(row.op);
  let key = row.op + operandsText(inputs, row.inputs) + operandsText(outputs, row.outputs);
  for (const { name, spec, at } of attrs) {
    const text = attributeText(spec, row.attrs, at);
    if (text !== undefined) key += ` ${name}=${text}`;
  }
  return key;
}

function operandsText(names: readonly string[], tensors: readonly (Tensor | undefined)[]): string {
  let text = "";
  for (let i = 0; i < names.length; i++) {
    const tensor = tensors[i];
    if (tensor) text += ` ${names[i]}:${operandText(tensor)}`;
  }
  return text;
}

/** `f16[2,25,2304,640]`, a pitch of its own behind a slash, and `!` for activations that are not aligned. Where weights
 *  lie depends on their file, and those that lie badly are packed. */
function operandText({ storage, dtype, dims, pitch, byteOffset }: Tensor): string {
  const ownPitch = pitch === dims[dims.length - 1] ? "" : `/${pitch}`;
  const isAligned = storage.kind === "weights" || byteOffset % VECTOR_BYTES === 0;
  return `${dtype}[${dims.join(",")}]${ownPitch}${isAligned ? "" : "!"}`;
}

/** The named values of a list, up to its end. */
function namesOf(spec: AttrSpec & { kind: "enums" }, values: readonly number[], at: number): string[] {
  const used = values.slice(at, at + spec.length).filter((value) => value > 0);
  return used.map((value) => spec.values[value]!);
}

/** Undefined for the default. */
function attributeText(spec: AttrSpec, values: readonly number[], at: number): string | undefined {
  const value = values[at]!;
  switch (spec.kind) {
    case "enum":
      return spec.values[value] === spec.default ? undefined : spec.values[value];
    case "enums":
      return namesOf(spec, values, at).join("+");
    case "bool":
      return (value === 1) === (spec.default ?? false) ? undefined : String(value);
    case "ints": {
      const list = values.slice(at, at + spec.length);
      return list.every((each, i) => each === spec.default?.[i]) ? undefined : list.join();
    }
    default:
      return value === spec.default ? undefined : String(value);
  }
}
