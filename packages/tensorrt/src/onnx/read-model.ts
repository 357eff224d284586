import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { VdError } from "@vd/kernels-native";
import { decodeModel, ELEMENT_TYPES, type ElementType, EXTERNAL, type ModelProto } from "./schema";
import { OPSETS } from "./write-model";

/** An input or output of a model file. */
export interface Port {
  readonly name: string;
  readonly type: ElementType;
  /** Sizes, or names of sizes that are known at run time. */
  readonly axes: readonly (number | string)[];
}

/** What a model file says of itself; its weights are not read. */
export interface ModelInfo {
  readonly path: string;
  readonly opset: number;
  readonly producer: string;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly numNodes: number;
  /** Operations by how often they occur. */
  readonly ops: Readonly<Record<string, number>>;
  /** Weights and other constants: name and shape. */
  readonly constants: ReadonlyMap<string, readonly number[]>;
  readonly metadata: Readonly<Record<string, string>>;
  /** Files beside the model that hold weights. */
  readonly dataPaths: readonly string[];
}

function damaged(path: string, expected: string, got: string, cause?: unknown): VdError {
  const hint = "The file is cut off or damaged, or no ONNX model: export or copy it again.";
  return new VdError({ code: "weights", where: path, expected, got, hint, cause });
}

async function bytesOf(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    const got = (cause as NodeJS.ErrnoException).code === "ENOENT" ? "no such file" : (cause as Error).message;
    throw new VdError({ code: "io", where: path, expected: "an ONNX model", got, cause });
  }
}

function parse(path: string, bytes: Uint8Array): ModelProto {
  try {
    return decodeModel(bytes);
  } catch (cause) {
    throw damaged(path, "a whole ONNX model", `${bytes.byteLength} bytes: ${(cause as Error).message}`, cause);
  }
}

/** Every operand is an input, a constant or the result of a node before. */
function checkGraph(path: string, { graph }: ModelProto): void {
  if (!graph || graph.node.length === 0) throw damaged(path, "a graph with operations", "none");
  const known = new Set(["", ...graph.input.map(({ name }) => name), ...graph.initializer.map(({ name }) => name)]);
  for (const node of graph.node) {
    const missing = node.input.find((name) => !known.has(name));
    if (missing !== undefined) throw damaged(path, `operand ${missing} of ${node.name}`, "a graph without it");
    for (const name of node.output) known.add(name);
  }
  const missing = graph.output.find(({ name }) => !known.has(name));
  if (missing || graph.output.length === 0)
    throw damaged(path, "every output to be computed", missing ? `none for ${missing.name}` : "no outputs");
}

function opsetOf(path: string, model: ModelProto): number {
  const opset = model.opsetImport.find(({ domain }) => (domain ?? "") === "")?.version;
  const foreign = model.opsetImport.filter(({ domain }) => (domain ?? "") !== "").map(({ domain }) => domain);
  if (foreign.length === 0 && opset !== undefined && opset >= OPSETS.min && opset <= OPSETS.max) return opset;
  throw new VdError({
    code: "unsupported",
    where: path,
    expected: `operations of the standard ONNX opset ${OPSETS.min} to ${OPSETS.max}`,
    got: foreign.length > 0 ? `operations of ${foreign.join(", ")}` : `opset ${opset ?? "unknown"}`,
    hint: "Export the model again, with --opset where a runtime asks for an older one.",
  });
}

/** The files that hold weights, each long enough for what it must hold. */
function checkData(path: string, { graph }: ModelProto): string[] {
  const ends = new Map<string, number>();
  for (const { name, dataLocation, externalData = [] } of graph.initializer) {
    if (dataLocation !== EXTERNAL) continue;
    const entry = Object.fromEntries(externalData.map(({ key, value }) => [key, value]));
    const location = entry.location ?? "";
    if (location === "" || /[/\\:\0]/.test(location) || location === "..")
      throw damaged(path, `a plain file name for the weights of ${name}`, JSON.stringify(location));
    const end = Number(entry.offset ?? 0) + Number(entry.length ?? 0);
    ends.set(location, Math.max(ends.get(location) ?? 0, end));
  }
  return [...ends].map(([location, end]) => {
    const file = join(dirname(path), location);
    const got = existsSync(file) ? `${statSync(file).size} bytes` : "no such file";
    if (existsSync(file) && statSync(file).size >= end) return file;
    const hint = `Keep ${location} beside the model: it holds the weights.`;
    throw new VdError({ code: "io", where: file, expected: `the weights of the model, ${end} bytes`, got, hint });
  });
}

const TYPE_NAMES = new Map<number, ElementType>(
  Object.entries(ELEMENT_TYPES).map(([name, number]) => [number, name as ElementType]),
);

function port(path: string, { name, type }: ModelProto["graph"]["input"][number]): Port {
  const { elemType, shape } = type?.tensorType ?? {};
  const element = TYPE_NAMES.get(elemType ?? 0);
  if (!element) throw damaged(path, `a known element type for ${name}`, String(elemType));
  return { name, type: element, axes: (shape?.dim ?? []).map(({ dimValue, dimParam }) => dimParam ?? dimValue ?? 0) };
}

function countOps({ graph }: ModelProto): Record<string, number> {
  const ops: Record<string, number> = {};
  for (const { opType } of graph.node) ops[opType] = (ops[opType] ?? 0) + 1;
  return ops;
}

/**
 * Reads a model file and checks that it is whole: it parses, every operand exists, the opset is one that exported
 * models have, and the weights lie beside it.
 *
 * @throws VdError `io`, `weights` or `unsupported`
 * @example
 * ```ts
 * import { readModel } from "@vd/tensorrt";
 *
 * const { inputs, outputs } = await readModel("onnx/unet.onnx");
 * console.log(inputs.map(({ name }) => name), outputs.map(({ name }) => name));
 * ```
 */
export async function readModel(path: string): Promise<ModelInfo> {
  const model = parse(path, await bytesOf(path));
  checkGraph(path, model);
  const opset = opsetOf(path, model);
  const { graph } = model;
  return {
    path,
    opset,
    producer: model.producerName,
    inputs: graph.input.map((each) => port(path, each)),
    outputs: graph.output.map((each) => port(path, each)),
    numNodes: graph.node.length,
    ops: countOps(model),
    constants: new Map(graph.initializer.map(({ name, dims }) => [name, dims ?? []])),
    metadata: Object.fromEntries(model.metadataProps.map(({ key, value }) => [key, value])),
    dataPaths: checkData(path, model),
  };
}
