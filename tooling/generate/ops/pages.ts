// The pages of the ops: docs/ops.md, a list, and docs/ops/<op>.md, all that is known of one.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { OpCase, OpCases, Operand } from "../../../packages/kernels-native/contract/define-case";
import type { DType, OpDefinition, TensorSpec } from "../../../packages/kernels-native/contract/op-kit";
import { ONNX_FORMS, type OnnxForm } from "../../../packages/tensorrt/src/export/ops/forms";
import { objectsOf } from "../../build/addon/sources.mjs";
import {
  imageName,
  packageDir,
  sourcesFor,
  TARGETS,
  TEMPLATE_TARGETS,
  templateSources,
} from "../../build/cubins/sources.mjs";
import { ROOT } from "../../build/workspace.mjs";
import type { PlannersReport } from "../../measure/planners/report";
import { measuredText, type OpsReport } from "./measured";
import { dimsText } from "./names";

const HEAD = (from: string) => `<!-- Generated from ${from} by \`pnpm gen\`. Do not edit. -->\n`;

/** What the page of an op is made of. */
export interface OpFacts {
  op: OpDefinition;
  cases: OpCases;
  reports: readonly OpsReport[];
  planners: PlannersReport;
}

/** Architectures with machine code of their own. */
const NUM_MACHINE_CODES = TARGETS.filter((target) => !target.startsWith("ptx")).length;

const row = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;

/** A table in Markdown, with a line before and behind. */
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string[] => [
  ...["", row(head), row(head.map(() => "---"))],
  ...rows.map(row),
  "",
];

/** What an operand means, with what its place in the contract says of it. */
function meaning(spec: TensorSpec): string {
  const notes = [
    ...(spec.optional ? ["optional"] : []),
    ...(spec.constant ? ["constant: packed once"] : []),
    ...(spec.offsets ? [`checked before each run: never falling, at most ${spec.offsets.into}`] : []),
    ...(spec.halfOnCpu ? ["16-bit floats on the CPU too"] : []),
    ...(spec.apart ? [`apart from ${spec.apart === "all" ? "all operands" : spec.apart.join(", ")}`] : []),
  ];
  return `${spec.doc}${notes.length > 0 ? ` (${notes.join("; ")})` : ""}`;
}

function argumentsText(op: OpDefinition): string[] {
  const tensor =
    (arrow: string) =>
    ([name, spec]: [string, TensorSpec]) => [
      ...[`${arrow}${name}`, dimsText(spec), spec.dtype.join("|"), meaning(spec)],
    ];
  const attributes = Object.entries(op.attrs).map(([name, spec]) => [
    name,
    spec.kind,
    spec.default === undefined ? "required" : `default ${JSON.stringify(spec.default)}`,
    spec.kind === "enums"
      ? `${spec.doc}: at most ${spec.length} of ${spec.values.slice(1).join(", ")}`
      : spec.kind === "enum"
        ? `${spec.doc}: ${spec.values.join(", ")}`
        : spec.doc,
  ]);
  const rules = [...new Set(op.rules.map((rule) => `- \`${rule.where}\`: ${rule.expected}`))];
  return [
    ...table(
      ["argument", "shape or kind", "types or default", "meaning"],
      [...Object.entries(op.inputs).map(tensor("")), ...attributes, ...Object.entries(op.outputs).map(tensor("→ "))],
    ),
    ...(rules.length > 0 ? ["Rules:", "", ...rules, ""] : []),
  ];
}

const scientific = (value: number) => (value === 0 ? "0" : value.toExponential(0));

function toleranceText(op: OpDefinition): string[] {
  return [
    ...["## Tolerance", "", "Of every backend against the float64 reference, by the type of the activations."],
    ...table(
      ["type", "normalised mean squared error", "worst difference over the root mean square"],
      Object.entries(op.tolerance).map(([dtype, { nmse, worst }]) => [dtype, scientific(nmse), scientific(worst)]),
    ),
  ];
}

/** Types of the operands that cases write down; those that say none are float32 and are recast to 16 bits by the suite. */
function caseTypes(cases: readonly OpCase[]): DType[] {
  const operands = cases.flatMap(({ inputs }) => Object.values(inputs) as (Operand | readonly number[])[]);
  return [...new Set(operands.map((given) => ("dims" in given ? (given.dtype ?? "f32") : "f32")))].sort();
}

/** Files of an op's folder that `accept` takes, by their paths in it. */
function filesOf(id: string, accept: (name: string) => boolean): string[] {
  const folder = join(packageDir, "ops", id);
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter(accept)
    .sort();
}

/** The instruction sets for which an op has inner loops of its own on an architecture. */
function instructionSets(id: string, arch: "x64" | "arm64"): string {
  const isOwn = (name: string) => name.endsWith(".simd.cc") || (arch === "x64" && /_avx(2|512)\.cc$/.test(name));
  const sets = filesOf(id, isOwn).flatMap((name) => objectsOf(name, arch).map(({ isa }) => isa ?? ""));
  return [...new Set(sets)].join(", ");
}

function cpuText(id: string): string[] {
  const link = (file: string) => `[${file}](../../packages/kernels-native/ops/${id}/${file})`;
  const fast = existsSync(join(packageDir, `ops/${id}/cpu/${id}_fast.cc`));
  const own = (["x64", "arm64"] as const)
    .map((arch) => [arch, instructionSets(id, arch)] as const)
    .filter(([, sets]) => sets !== "");
  const loops = own.map(([arch, sets]) => `${sets} (${arch})`).join("; ");
  const path = fast ? `Fast path: ${link(`cpu/${id}_fast.cc`)}` : "No fast path: the definition computes it";
  return [
    `**CPU.** The definition: ${link(`${id}.cpu.cc`)}. ${path}${loops ? `, with inner loops of its own for ${loops}` : ""}.`,
    "",
  ];
}

/** The architectures whose device code has a source file. */
function architecturesOf(file: string): string {
  const isIn = (sources: readonly string[]) => sources.some((path) => path.replaceAll("\\", "/").endsWith(file));
  if (isIn(templateSources())) return `all, from the text of ${TEMPLATE_TARGETS.map(imageName).join(" or ")}`;
  const targets = TARGETS.filter((target) => isIn(sourcesFor(target)));
  return targets.length === TARGETS.length ? "all" : targets.map(imageName).join(", ");
}

function gpuText(id: string): string[] {
  const sources = filesOf(id, (name) => name.endsWith(".cu"));
  const rows = sources.map((file) => [
    `[${file}](../../packages/kernels-native/ops/${id}/${file})`,
    architecturesOf(`/ops/${id}/${file}`),
  ]);
  return [
    `**GPU.** Planner: [${id}.cuda.cc](../../packages/kernels-native/ops/${id}/${id}.cuda.cc). Device code is built for ${TARGETS.map(imageName).join(", ")}; kernels that it shares with other ops lie in [device](../../packages/kernels-native/device).`,
    ...table(["device code", "architectures"], rows),
  ];
}

const mebibytes = (bytes: number) => (bytes === 0 ? "0" : `${(bytes / 2 ** 20).toFixed(2)} MiB`);

/** What the planner chooses first for each shape, and the working memory that it takes. */
function plannedText(id: string, { dtype, kernelHash, rows }: PlannersReport): string[] {
  const own = rows.filter(({ name }) => name.startsWith(`${id}.`));
  if (own.length === 0) return [];
  const cells = own.flatMap(({ name, variants }) =>
    variants.map(({ variant, workspaceBytes, launches, numVariants, architectures }) => [
      ...[
        name.slice(id.length + 1),
        variant,
        architectures.length === NUM_MACHINE_CODES ? "all" : architectures.join(", "),
      ],
      ...[String(launches), mebibytes(workspaceBytes), String(numVariants)],
    ]),
  );
  return [
    `What the planner chooses for the shapes below in ${dtype}, and the working memory that it takes beyond operands and results (kernels ${kernelHash.slice(0, 8)}, \`pnpm report:planners\`):`,
    ...table(["case", "variant", "architectures", "launches", "workspace", "variants to choose from"], cells),
  ];
}

function casesText({ op, cases }: OpFacts): string[] {
  const { correctness, bench } = cases;
  return [
    ...["## Cases", ""],
    `${correctness.length} cases for correctness, operands of ${caseTypes(correctness).join(", ")}, and ${bench.length} shapes to time:`,
    `[${op.id}.cases.ts](../../packages/kernels-native/ops/${op.id}/${op.id}.cases.ts).`,
    "",
  ];
}

/** What `@vd/tensorrt` writes for the op, and what it refuses. */
function onnxText(form: OnnxForm | undefined): string[] {
  if (!form) return ["## ONNX", "", "No form yet: an export with a row of it fails and names the row.", ""];
  const { nodes, note, refuses = [] } = form;
  const made = nodes.length === 0 ? "operations" : `${nodes.join(", ")}, and operations`;
  const refused = refuses.map(({ reason }) => `- ${reason}`);
  return [
    ...[
      "## ONNX",
      "",
      `Written by [@vd/tensorrt](../tensorrt.md#what-is-exported) as ${made} that only move, select, repeat or convert elements.`,
      "",
    ],
    ...(note ? [`The form: ${note}.`, ""] : []),
    ...(refused.length > 0 ? ["Refused, in an error that names the row:", "", ...refused, ""] : []),
  ];
}

/** docs/ops/<op>.md: formula, arguments, tolerance, where it runs, its ONNX form, what was measured. */
export function opPage(facts: OpFacts): string {
  const { op, reports } = facts;
  const history = `docs/kernels/${op.id}.md`;
  const measured = measuredText(op.id, reports);
  return [
    `${HEAD(`ops/${op.id}, its cases and reports`)}# ${op.id}\n`,
    `${op.summary}\n`,
    ...["```text", ...op.formula, "```"],
    ...(existsSync(join(ROOT, history))
      ? ["", `How it came to be what it is: [${history}](../kernels/${op.id}.md).`]
      : []),
    ...argumentsText(op),
    ...toleranceText(op),
    ...["## Where it runs", "", ...cpuText(op.id), ...gpuText(op.id), ...plannedText(op.id, facts.planners)],
    ...onnxText(ONNX_FORMS[op.id as keyof typeof ONNX_FORMS]),
    ...casesText(facts),
    ...["## Measured", "", ...(measured.length > 0 ? measured : ["No report in the tree has rows of it.", ""])],
    `Source: ${op.source.join(", ")}\n`,
  ].join("\n");
}

/** docs/ops.md: a line per op. */
export function opsListPage(ops: readonly OpDefinition[]): string {
  const rows = ops.map((op) => [`[${op.id}](ops/${op.id}.md)`, op.summary.replaceAll("\n", " ")]);
  return `${HEAD("ops/*/*.op.ts")}# Operations

Dimensions: B batch, F frames, H W, C channels, K output channels, S tokens, L context tokens; \`1|B\` is broadcast. Each op has a
page: formula, arguments, tolerance, where it runs, its ONNX form and what was measured. \`pnpm kernel show OP\` prints it.

A result may take exactly the place of an operand of its shape, unless the op's page keeps them apart; a result that lies anywhere
else over another tensor of its call is refused before anything is written.
${table(["op", "what it does"], rows).join("\n")}`;
}
