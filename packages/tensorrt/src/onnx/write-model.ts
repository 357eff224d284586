import { randomBytes } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { basename } from "node:path";
import {
  FUNCTION,
  having,
  OBJECT,
  optional,
  PATH,
  requireArgument,
  requireFields,
  SIGNAL,
  TEXT,
  throwIfAborted,
  VdError,
} from "@vd/kernels-native";
import type { Axis, GraphWriter, Initializer } from "./graph-writer";
import { ELEMENT_TYPES, EXTERNAL, encodeModel, type TensorProto, type ValueInfoProto } from "./schema";

/** The operator set of exported models: every operation used means the same from 21 to 25. TensorRT 11 reads up to 25,
 *  older versions less: 21 is the oldest that has all operations.
 *  Source: https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/onnx-opset-guide.html. */
export const DEFAULT_OPSET = 23;
/** The oldest and newest operator set that can be asked for. */
export const OPSETS = { min: 21, max: 25 } as const;

/** The format's version that introduced an operator set. Source: onnx/onnx docs/Versioning.md. */
const IR_VERSIONS: Readonly<Record<number, number>> = { 21: 10, 22: 10, 23: 11, 24: 12, 25: 13 };

/** Constants from this size on go to the data file. */
const EXTERNAL_FROM_BYTES = 1024;
/** External tensors start at pages, so that runtimes can map them. Source: onnx/onnx onnx/onnx.proto external_data. */
const PAGE_BYTES = 4096;

/** What to write, and how. */
export interface WriteOptions {
  readonly name: string;
  readonly opset?: number | undefined;
  /** Facts about the model, stored as its metadata. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Bytes of weights written so far, and of all. */
  readonly onProgress?: ((bytes: number, totalBytes: number) => void) | undefined;
}

const WRITE = {
  ...{ name: TEXT, metadata: optional(OBJECT) },
  ...{ signal: optional(SIGNAL), onProgress: optional(FUNCTION) },
};

/** The files of a written model. */
export interface WrittenModel {
  readonly path: string;
  readonly dataPath: string;
  readonly graphBytes: number;
  readonly dataBytes: number;
  readonly numNodes: number;
}

interface Placed {
  readonly initializer: Initializer;
  readonly offset: number;
}

const byteLengthOf = ({ data }: Initializer) => data.byteLength;
const roundUp = (bytes: number) => Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;

/** Where each large constant goes in the data file, and how long that gets. */
function place(initializers: Iterable<Initializer>): { placed: Map<string, Placed>; fileBytes: number } {
  const placed = new Map<string, Placed>();
  let offset = 0;
  for (const initializer of initializers) {
    if (byteLengthOf(initializer) < EXTERNAL_FROM_BYTES) continue;
    placed.set(initializer.name, { initializer, offset });
    offset = roundUp(offset + byteLengthOf(initializer));
  }
  return { placed, fileBytes: offset };
}

function collect(data: Initializer["data"]): Uint8Array {
  if (data instanceof Uint8Array) return data;
  const all = new Uint8Array(data.byteLength);
  let at = 0;
  for (const slice of data.slices()) {
    all.set(slice, at);
    at += slice.byteLength;
  }
  return all;
}

function tensorProto(initializer: Initializer, placed: Placed | undefined, location: string): TensorProto {
  const { name, dims, type } = initializer;
  const common = { name, dims, dataType: ELEMENT_TYPES[type] };
  if (!placed) return { ...common, rawData: collect(initializer.data) };
  const entries = { location, offset: String(placed.offset), length: String(byteLengthOf(initializer)) };
  const externalData = Object.entries(entries).map(([key, value]) => ({ key, value }));
  return { ...common, dataLocation: EXTERNAL, externalData };
}

function valueInfo({ name, type, axes }: { name: string; type: keyof typeof ELEMENT_TYPES; axes: readonly Axis[] }) {
  const dim = axes.map((axis) => (typeof axis === "number" ? { dimValue: axis } : { dimParam: axis }));
  return { name, type: { tensorType: { elemType: ELEMENT_TYPES[type], shape: { dim } } } } satisfies ValueInfoProto;
}

async function writeData(handle: FileHandle, placed: readonly Placed[], fileBytes: number, options: WriteOptions) {
  const total = placed.reduce((sum, { initializer }) => sum + byteLengthOf(initializer), 0);
  let written = 0;
  for (const { initializer, offset } of placed) {
    const { data } = initializer;
    let at = offset;
    for (const slice of data instanceof Uint8Array ? [data] : data.slices()) {
      throwIfAborted(options.signal, "export");
      await writeAll(handle, slice, at);
      at += slice.byteLength;
      written += slice.byteLength;
      options.onProgress?.(written, total);
    }
  }
  await handle.truncate(fileBytes);
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength; )
    done += (await handle.write(bytes, done, bytes.byteLength - done, position + done)).bytesWritten;
}

function checkOpset(opset: number): void {
  if (Number.isInteger(opset) && opset >= OPSETS.min && opset <= OPSETS.max) return;
  const expected = `a whole number from ${OPSETS.min} to ${OPSETS.max}`;
  throw new VdError({ code: "attr", where: "opset", expected, got: String(opset) });
}

function encode(graph: GraphWriter, options: WriteOptions, placed: ReadonlyMap<string, Placed>, location: string) {
  const opset = options.opset ?? DEFAULT_OPSET;
  return encodeModel({
    irVersion: IR_VERSIONS[opset]!,
    producerName: "@vd/tensorrt",
    opsetImport: [{ domain: "", version: opset }],
    metadataProps: Object.entries(options.metadata ?? {}).map(([key, value]) => ({ key, value })),
    graph: {
      name: options.name,
      node: graph.nodes,
      initializer: [...graph.initializers.values()].map((each) => tensorProto(each, placed.get(each.name), location)),
      input: graph.inputs.map(valueInfo),
      output: graph.outputs.map(valueInfo),
    },
  });
}

async function writeFileWith(path: string, body: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await open(path, "wx");
  try {
    await body(handle);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Writes a model at `path` and its weights at `path` + ".data", slice by slice: a large model takes no
 * more memory than a small one. Both files appear when both are complete, the model last, or not at all. Source: onnx/onnx
 * docs/ExternalData.md.
 *
 * @throws VdError `io`, `attr`, `cancelled`
 */
export async function writeModel(path: string, graph: GraphWriter, options: WriteOptions): Promise<WrittenModel> {
  requireArgument("writeModel", path, PATH);
  requireArgument("writeModel graph", graph, having("a graph of exportGraph", ["initializers"]));
  requireFields("writeModel", options, WRITE);
  checkOpset(options.opset ?? DEFAULT_OPSET);
  const dataPath = `${path}.data`;
  const { placed, fileBytes } = place(graph.initializers.values());
  const model = encode(graph, options, placed, basename(dataPath));
  const suffix = `.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await writeFileWith(dataPath + suffix, (handle) => writeData(handle, [...placed.values()], fileBytes, options));
    await writeFileWith(path + suffix, (handle) => writeAll(handle, model, 0));
    throwIfAborted(options.signal, "export");
    // Without its model the old data file is of no use; with the wrong data a model would be of harm.
    await rm(path, { force: true });
    await rename(dataPath + suffix, dataPath);
    await rename(path + suffix, path);
  } catch (error) {
    await Promise.all([path, dataPath].map((each) => rm(each + suffix, { force: true })));
    if (!(error instanceof Error) || !("code" in error) || error instanceof VdError) throw error;
    throw new VdError({
      code: "io",
      where: path,
      expected: "a file that can be written",
      got: error.message,
      cause: error,
    });
  }
  return { path, dataPath, graphBytes: model.byteLength, dataBytes: fileBytes, numNodes: graph.nodes.length };
}
