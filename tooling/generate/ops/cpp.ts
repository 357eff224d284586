import { ERROR_CODES } from "../../../packages/kernels-native/contract/error-codes";
import { MAX_ELEMENTS, MAX_RANK } from "../../../packages/kernels-native/contract/layout";
import {
  type AttrSpec,
  type DimSpec,
  DTYPE_NAMES,
  DTYPES,
  type Expr,
  type OpDefinition,
  slotsOf,
  type TensorSpec,
} from "../../../packages/kernels-native/contract/op-kit";
import { dimsText, pascal, symbolsOf } from "./names";

const HEAD = (from: string) => `// Generated from ${from} by \`pnpm gen\`. Do not edit.\n`;
const quote = (text: string) => JSON.stringify(text);

/** native/generated/dtype.h */
export function dtypeHeader(): string {
  const list = (map: (name: (typeof DTYPE_NAMES)[number], i: number) => string) => DTYPE_NAMES.map(map).join(", ");
  return `${HEAD("contract/dtype.ts")}#pragma once
#include <cstdint>

namespace vd {

/** Element types, in the order of contract/dtype.ts. */
enum class DType : uint8_t { ${list((name, i) => `${name} = ${i}`)} };

inline constexpr int kNumDTypes = ${DTYPE_NAMES.length};
inline constexpr int kDTypeBytes[kNumDTypes] = {${list((name) => String(DTYPES[name]))}};
inline constexpr const char* kDTypeNames[kNumDTypes] = {${list(quote)}};

constexpr int bytes_of(DType type) { return kDTypeBytes[static_cast<int>(type)]; }

}  // namespace vd
`;
}

/** native/generated/error_codes.h */
export function errorCodesHeader(): string {
  const names = Object.keys(ERROR_CODES);
  return `${HEAD("contract/error-codes.ts")}#pragma once

namespace vd {

enum class ErrorCode { ${names.join(", ")} };

inline constexpr const char* kErrorCodeNames[] = {${names.map(quote).join(", ")}};

}  // namespace vd
`;
}

const fields: Record<AttrSpec["kind"], (name: string, spec: AttrSpec) => string> = {
  int: (name) => `int64_t ${name};`,
  ints: (name, spec) => `int64_t ${name}[${slotsOf(spec)}];`,
  floats: (name, spec) => `float ${name}[${slotsOf(spec)}];`,
  enums: (name, spec) => `${spec.kind === "enums" ? spec.type : ""} ${name}[${slotsOf(spec)}];`,
  float: (name) => `float ${name};`,
  bool: (name) => `bool ${name};`,
  enum: (name, spec) => `${spec.kind === "enum" ? spec.type : ""} ${name};`,
};

/** Reads a list, element by element; type: of an element. */
const readList = (name: string, type: string, spec: AttrSpec, slot: number) =>
  Array.from(
    { length: slotsOf(spec) },
    (_, i) => `args.${name}[${i}] = static_cast<${type}>(row.attrs[${slot + i}]);`,
  ).join("\n  ");

function readField(name: string, spec: AttrSpec, slot: number): string {
  const value = `row.attrs[${slot}]`;
  switch (spec.kind) {
    case "int":
      return `args.${name} = static_cast<int64_t>(${value});`;
    case "ints":
      return readList(name, "int64_t", spec, slot);
    case "floats":
      return readList(name, "float", spec, slot);
    case "enums":
      return Array.from(
        { length: spec.length },
        (_, i) => `args.${name}[${i}] = static_cast<${spec.type}>(static_cast<int32_t>(row.attrs[${slot + i}]));`,
      ).join("\n  ");
    case "float":
      return `args.${name} = static_cast<float>(${value});`;
    case "bool":
      return `args.${name} = ${value} != 0;`;
    case "enum":
      return `args.${name} = static_cast<${spec.type}>(static_cast<int32_t>(${value}));`;
  }
}

const tensorsOf = (op: OpDefinition): [string, TensorSpec][] => [
  ...Object.entries(op.inputs),
  ...Object.entries(op.outputs),
];

/** Bit i set: result `name` may share no byte with tensor i. */
function apartMask(op: OpDefinition, name: string, { apart }: TensorSpec): number {
  if (!apart) return 0;
  return tensorsOf(op).reduce((bits, [other], i) => {
    const counts = other !== name && (apart === "all" || apart.includes(other));
    return counts ? bits | (1 << i) : bits;
  }, 0);
}

function argsStruct(op: OpDefinition): string {
  const tensors = tensorsOf(op).map(
    ([name, spec]) =>
      `  /** ${dimsText(spec)}${spec.optional ? ", may be absent" : ""}: ${spec.doc}. */\n  Tensor ${name};`,
  );
  const attrs = Object.entries(op.attrs).map(
    ([name, spec]) => `  /** ${spec.doc}. */\n  ${fields[spec.kind](name, spec)}`,
  );
  return `/** ${op.summary} */\nstruct ${pascal(op.id)}Args {\n${[...tensors, ...attrs].join("\n")}\n};\n`;
}

function argsReader(op: OpDefinition): string {
  const type = `${pascal(op.id)}Args`;
  const tensors = tensorsOf(op).map(([name], i) => `args.${name} = row.tensors[${i}];`);
  let slot = 0;
  const attrs = Object.entries(op.attrs).map(([name, spec]) => {
    const line = readField(name, spec, slot);
    slot += slotsOf(spec);
    return line;
  });
  return `inline ${type} read_${op.id}_args(const Row& row) {\n  ${type} args{};\n  ${[...tensors, ...attrs].join("\n  ")}\n  return args;\n}\n`;
}

function enums(ops: readonly OpDefinition[]): string {
  const types = new Map<string, readonly string[]>();
  for (const op of ops)
    for (const spec of Object.values(op.attrs))
      if ((spec.kind === "enum" || spec.kind === "enums") && spec.values.length > (types.get(spec.type)?.length ?? 0))
        types.set(spec.type, spec.values);
  return [...types]
    .map(([type, values]) => `enum class ${type} : int32_t { ${values.map((v, i) => `${v} = ${i}`).join(", ")} };`)
    .join("\n");
}

/** native/generated/op_args.h: enums, one Args struct per op and its reader, and the list of ops. */
export function opArgsHeader(ops: readonly OpDefinition[]): string {
  return `${HEAD("ops/*/*.op.ts")}#pragma once
#include <cstdint>

#include "../core/row.h"
#include "../core/tensor.h"

namespace vd {

${enums(ops)}

${ops.map(argsStruct).join("\n")}
${ops.map(argsReader).join("\n")}
/** X(id, ArgsType) for every op, in the order of their numbers. */
#define VD_FOR_EACH_OP(X) \\
${ops.map((op) => `  X(${op.id}, ${pascal(op.id)}Args)`).join(" \\\n")}

}  // namespace vd
`;
}

/** native/generated/ops_table.inc: what the validator knows of each op. */
export function opsTable(ops: readonly OpDefinition[]): string {
  return HEAD("ops/*/*.op.ts") + ops.map(opRow).join("") + tableOf(ops);
}

function tableOf(ops: readonly OpDefinition[]): string {
  return `inline constexpr const OpRow* kOps[] = {${ops.map((op) => `&k_${op.id}`).join(", ")}};\n`;
}

class Scope {
  readonly symbols: string[];
  readonly tensors: string[];
  readonly slots = new Map<string, number>();
  constructor(op: OpDefinition) {
    this.symbols = symbolsOf(op).all;
    this.tensors = tensorsOf(op).map(([name]) => name);
    let slot = 0;
    for (const [name, spec] of Object.entries(op.attrs)) {
      this.slots.set(name, slot);
      slot += slotsOf(spec);
    }
  }

  find(list: readonly string[], name: string): number {
    const index = list.indexOf(name);
    if (index < 0) throw new Error(`unknown name ${name} in an expression`);
    return index;
  }
}

function postfix(expr: Expr, scope: Scope): string[] {
  if (typeof expr === "number") return [`{Code::constant, ${expr}}`];
  if (typeof expr === "string") return [`{Code::symbol, ${scope.find(scope.symbols, expr)}}`];
  if ("attr" in expr) return [`{Code::attr, ${scope.slots.get(expr.attr)! + expr.index}}`];
  if ("present" in expr) return [`{Code::present, ${scope.find(scope.tensors, expr.present)}}`];
  return [...postfix(expr.args[0], scope), ...postfix(expr.args[1], scope), `{Code::op_${expr.apply}, 0}`];
}

function opRow(op: OpDefinition): string {
  const scope = new Scope(op);
  const id = op.id;
  let out = "";
  const exprArray = (name: string, expr: Expr) => {
    const codes = postfix(expr, scope);
    out += `inline constexpr ExprCode ${name}[] = {${codes.join(", ")}};\n`;
    return `{${name}, ${codes.length}}`;
  };
  const array = (name: string, type: string, rows: string[]) => {
    if (rows.length === 0) return "nullptr, 0";
    out += `inline constexpr ${type} ${name}[] = {\n  ${rows.join(",\n  ")}};\n`;
    return `${name}, ${rows.length}`;
  };
  const { bound, derived } = symbolsOf(op);
  const dimRow = (name: string, dim: DimSpec) => {
    const oneOr = typeof dim === "object" && "oneOr" in dim;
    const expr = oneOr ? dim.oneOr : (dim as Expr);
    const binds = !oneOr && typeof expr === "string" && bound.includes(expr) ? scope.find(scope.symbols, expr) : -1;
    return `{${exprArray(name, expr)}, ${binds}, ${oneOr}}`;
  };
  const tensorRows = tensorsOf(op).map(([name, spec], t) => {
    const dims = array(
      `k_${id}_t${t}`,
      "DimRow",
      spec.dims.map((dim, d) => dimRow(`k_${id}_t${t}_${d}`, dim)),
    );
    const into = spec.offsets ? scope.find(scope.symbols, spec.offsets.into) : -1;
    const mask = spec.dtype.reduce((bits, dtype) => bits | (1 << DTYPE_NAMES.indexOf(dtype)), 0);
    return `{${quote(name)}, ${dims}, ${mask}u, ${Boolean(spec.optional)}, ${Boolean(spec.constant)}, ${name in op.outputs}, ${into}, ${Boolean(spec.halfOnCpu)}, ${apartMask(op, name, spec)}u}`;
  });
  const tensors = array(`k_${id}_tensors`, "TensorRow", tensorRows);
  const attrs = array(`k_${id}_attrs`, "AttrRow", Object.entries(op.attrs).map(attrRow));
  const derivedRows = Object.entries(op.derived ?? {}).map(
    ([name, expr], i) => `{${scope.find(scope.symbols, name)}, ${exprArray(`k_${id}_d${i}`, expr)}}`,
  );
  const derivedArray = array(`k_${id}_derived`, "DerivedRow", derivedRows);
  const rules = array(
    `k_${id}_rules`,
    "RuleRow",
    op.rules.map(
      (rule, i) =>
        `{${quote(rule.where)}, ${exprArray(`k_${id}_r${i}`, rule.test)}, ${quote(rule.expected)}, ${exprArray(`k_${id}_g${i}`, rule.got)}}`,
    ),
  );
  const slots = Object.values(op.attrs).reduce((n, spec) => n + slotsOf(spec), 0);
  const numSymbols = bound.length + derived.length;
  out += `inline constexpr OpRow k_${id} = {${quote(id)}, ${tensors}, ${attrs}, ${slots}, ${derivedArray}, ${rules}, ${numSymbols}};\n`;
  return `\n${out}`;
}

function attrRow([name, spec]: [string, AttrSpec]): string {
  switch (spec.kind) {
    case "int":
      return `{${quote(name)}, AttrKind::integer, 1, ${spec.min}, ${spec.max}}`;
    case "ints":
      return `{${quote(name)}, AttrKind::integer, ${spec.length}, ${spec.min}, ${spec.max}}`;
    case "floats":
      return `{${quote(name)}, AttrKind::real, ${spec.length}, ${spec.min}, ${spec.max}}`;
    case "enums":
      return `{${quote(name)}, AttrKind::integer, ${spec.length}, 0, ${spec.values.length - 1}}`;
    case "float":
      return `{${quote(name)}, AttrKind::real, 1, ${spec.min}, ${spec.max}}`;
    case "bool":
      return `{${quote(name)}, AttrKind::integer, 1, 0, 1}`;
    case "enum":
      return `{${quote(name)}, AttrKind::integer, 1, 0, ${spec.values.length - 1}}`;
  }
}

/** native/generated/op_planners.h: the planners of all ops, which ops/<op>/<op>.cuda.cc define. */
export function opPlannersHeader(ids: readonly string[]): string {
  const planners = ids.map(
    (id) =>
      `cuda::Candidates ${id}_cuda_variants(const ${pascal(id)}Args& args, const cuda::DeviceInfo& device, const cuda::PlanningOptions& options);\n`,
  );
  return `${HEAD("ops/*/*.op.ts")}#pragma once
#include "../cuda/planning/candidates.h"
#include "op_args.h"

namespace vd {

// Each returns the variants of a row on a device, the best guess first; none when no kernel can do it.
${planners.join("")}
}  // namespace vd
`;
}

/** native/generated/cpu_fast_paths.h: the ops with a fast path on the CPU, which ops/<op>/cpu/<op>_fast.cc define. */
export function cpuFastPathsHeader(ids: readonly string[]): string {
  return `${HEAD("ops/*/cpu/*_fast.cc")}#pragma once

/** X(id, ArgsType) for every op with a fast path on the CPU. */
#define VD_FOR_EACH_CPU_FAST_PATH(X) \\
${ids.map((id) => `  X(${id}, ${pascal(id)}Args)`).join(" \\\n")}
`;
}

/** native/generated/limits.h */
export function limitsHeader(): string {
  return `${HEAD("contract/layout.ts")}#pragma once

namespace vd {

/** Most dimensions of a tensor. */
inline constexpr int kMaxRank = ${MAX_RANK};
/** The largest single dimension and element count: 2^${Math.log2(MAX_ELEMENTS)}. */
inline constexpr double kMaxElements = ${MAX_ELEMENTS}.0;

}  // namespace vd
`;
}
