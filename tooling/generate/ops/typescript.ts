import type { AttrSpec, DType, OpDefinition, TensorSpec } from "../../../packages/kernels-native/contract/op-kit";
import { camel, dimsText, pascal } from "./names";

const HEAD = "// Generated from ops/*/*.op.ts by `pnpm gen`. Do not edit.\n";

/** contract/ops.generated.ts: every op definition under its id, in the order of their numbers, and `fastIds`, the ops with
 *  a fast path on the CPU. */
export function opsIndex(ids: readonly string[], fastIds: readonly string[]): string {
  return `${HEAD}import type { OpDefinition } from "./define-op";
${ids.map((id) => `import ${camel(id)} from "../ops/${id}/${id}.op";`).join("\n")}

/** Every op by its id; the order is the numbering that the addon uses. */
export const OPS = {
${ids.map((id) => `  ${id}: ${camel(id)},`).join("\n")}
} as const satisfies Record<string, OpDefinition>;

/** The id of an op. */
export type OpId = keyof typeof OPS;

/** Ops with a fast path on the CPU: those with a file \`ops/<op>/cpu/<op>_fast.cc\`. */
export const CPU_FAST_PATHS: readonly OpId[] = ${JSON.stringify(fastIds)};
`;
}

/** `ops/cases.generated.ts`: the cases of every op that has some, for tools that time or check them. */
export function opsCases(ids: readonly string[]): string {
  return `${HEAD}import type { OpCases } from "../contract/define-case";
${ids.map((id) => `import ${camel(id)} from "./${id}/${id}.cases";`).join("\n")}

/** Correctness and bench cases by op. */
export const OP_CASES = {
${ids.map((id) => `  ${id}: ${camel(id)},`).join("\n")}
} satisfies Record<string, OpCases>;
`;
}

/** `ops/references.generated.ts`: the float64 reference of every op. */
export function opsReferences(ids: readonly string[]): string {
  return `${HEAD}import type { OpId } from "../contract";
import type { Reference } from "../contract/reference";
${ids.map((id) => `import ${camel(id)} from "./${id}/${id}.reference";`).join("\n")}

export * from "../contract/reference";

/** Every op in float64, written from its formula and not from any backend's code. */
export const REFERENCES: Readonly<Record<OpId, Reference>> = {
${ids.map((id) => `  ${id}: ${camel(id)},`).join("\n")}
};
`;
}

function attrType(spec: AttrSpec): string {
  switch (spec.kind) {
    case "int":
    case "float":
      return "number";
    case "ints":
      return `readonly [${Array.from({ length: spec.length }, () => "number").join(", ")}]`;
    case "floats":
      return "readonly number[]";
    case "bool":
      return "boolean";
    case "enums":
      return `readonly (${spec.values.map((v) => JSON.stringify(v)).join(" | ")})[]`;
    case "enum":
      return spec.values.map((v) => JSON.stringify(v)).join(" | ");
  }
}

const isOptionalAttr = (spec: AttrSpec) => spec.default !== undefined;
const dtypesText = (dtypes: readonly DType[]) => dtypes.join("|");

function defaultText(spec: AttrSpec): string {
  return spec.default === undefined ? "" : `; default ${JSON.stringify(spec.default)}`;
}

function argsInterface(op: OpDefinition): string {
  const tensor = ([name, spec]: [string, TensorSpec]) =>
    `  /** ${spec.doc} ${dimsText(spec)} ${dtypesText(spec.dtype)} */\n  ${name}${spec.optional ? "?" : ""}: Tensor${spec.optional ? " | undefined" : ""};`;
  const attribute = ([name, spec]: [string, AttrSpec]) =>
    `  /** ${spec.doc}${defaultText(spec)} */\n  ${name}${isOptionalAttr(spec) ? "?" : ""}: ${attrType(spec)}${isOptionalAttr(spec) ? " | undefined" : ""};`;
  const lines = [...Object.entries(op.inputs).map(tensor), ...Object.entries(op.attrs).map(attribute)];
  return `/** Arguments of {@link GraphOps.${camel(op.id)}}. */\nexport interface ${pascal(op.id)}Options extends CallOptions {\n${lines.join("\n")}\n}\n`;
}

function method(op: OpDefinition): string {
  const outputs = Object.entries(op.outputs);
  const single = outputs.length === 1 || outputs.slice(1).every(([, spec]) => spec.optional);
  const [name, spec] = outputs[0]!;
  const doc = [
    op.summary,
    ...Object.entries(op.inputs).map(([input, s]) => `${input}: ${dimsText(s)} ${s.doc}.`),
    `Returns ${name}: ${dimsText(spec)} ${spec.doc}.`,
    ...op.source.map((source) => `Source: ${source}`),
    "@throws VdError `shape`, `dtype` or `attr` naming the argument",
  ];
  if (!single) throw new Error(`${op.id}: more than one required output`);
  return `  /** ${doc.join("\n   *  ")} */\n  ${camel(op.id)}(options: ${pascal(op.id)}Options): Tensor {\n    return this.record("${op.id}", options);\n  }\n`;
}

/** tensor/src/graph-ops.generated.ts: one documented method per op. */
export function graphOps(ops: readonly OpDefinition[]): string {
  return `${HEAD}import type { OpId } from "@vd/kernels-native/contract";
import type { CallOptions, Tensor } from "./tensor";

${ops.map(argsInterface).join("\n")}
/** One method per op of the contract; {@link Graph} records them, eager mode runs them at once. */
export abstract class GraphOps {
  /** Checks the arguments against the contract, infers the result and adds the row. */
  protected abstract record(op: OpId, options: CallOptions): Tensor;

${ops.map(method).join("\n")}}
`;
}
