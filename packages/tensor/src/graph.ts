import {
  allocateBuffer,
  type DType,
  having,
  OBJECT,
  OPS,
  type OpId,
  oneOfThese,
  requireArgument,
  requireOptions,
  spanOf,
  type TensorSpec,
  VdError,
  wholeFrom,
} from "@vd/kernels-native";
import { GraphOps } from "./graph-ops.generated";
import { checkCount } from "./host";
import { checkCall, type Row } from "./row";
import {
  type CallOptions,
  checkShape,
  describe,
  elementBytes,
  packedBytes,
  requireTensor,
  type Storage,
  type StorageKind,
  type Tensor,
} from "./tensor";

/** Records one call of an op as it is, and returns its first result. */
export type RecordCall = (op: OpId, options: CallOptions) => Tensor;

/** What a graph records instead of a call: other calls through `record`, or the same one. Returns the first result. */
export interface RewriteCall {
  (op: OpId, options: CallOptions, record: RecordCall): Tensor;
  /** Records what it holds back of the calls that it got with `record`: a result of theirs becomes an output. */
  finish?(record: RecordCall): void;
}

/** How a graph is recorded. */
export interface GraphOptions {
  /** Names of intermediate tensors to keep as outputs, as given to {@link Graph.tap}; "*" keeps all. */
  taps?: ReadonlySet<string>;
  /** Element type of activations; default f32, the only one that the CPU has. */
  dtype?: DType;
}

let nextStorageId = 0;

const KIND = oneOfThese(["weights", "state", "io", "arena"] satisfies StorageKind[]);
const BYTES = wholeFrom(0);

/** A graph, as an argument. */
export const GRAPH = having("a graph", ["rows", "inputs", "outputs", "states"]);

/** A new block of memory; `place` if it exists already. @throws VdError `attr` */
export function makeStorage(kind: StorageKind, bytes: number, name: string, place?: Storage["place"]): Storage {
  requireArgument("makeStorage kind", kind, KIND);
  requireArgument("makeStorage bytes", bytes, BYTES);
  return { id: nextStorageId++, kind, bytes, name, ...(place ? { place } : {}) };
}

/** A packed tensor that covers `storage`. @throws VdError `attr`, `shape` or `dtype` */
export function packedTensor(storage: Storage, dims: readonly number[], dtype: DType, byteOffset = 0): Tensor {
  requireArgument("packedTensor storage", storage, OBJECT);
  requireArgument("packedTensor byteOffset", byteOffset, BYTES);
  checkShape("packedTensor", dims, dtype);
  return { storage, dtype, dims, pitch: dims[dims.length - 1] ?? 1, byteOffset };
}

/**
 * Records calls of ops over shapes; nothing is computed. A model's forward function is run on it once per shape.
 *
 * @example
 * ```ts
 * import { Graph } from "@vd/tensor";
 *
 * const g = new Graph({ dtype: "f32" });
 * const x = g.input("x", [1, 1, 16, 8]);
 * g.output("y", g.pointwise({ a: x, act: "silu" }));
 * console.log(g.rows.length); // 1
 * ```
 */
export class Graph extends GraphOps {
  readonly rows: Row[] = [];
  readonly inputs = new Map<string, Tensor>();
  readonly outputs = new Map<string, Tensor>();
  readonly states = new Map<string, Tensor>();
  /** Element type of activations: of inputs, states and empty tensors unless they say otherwise. Results of ops have the
   *  type of their first input where the op allows it. */
  readonly dtype: DType;
  private readonly taps: ReadonlySet<string>;

  constructor(options: GraphOptions = {}) {
    super();
    requireOptions("graph", options);
    if (options.taps !== undefined && typeof options.taps?.has !== "function")
      throw new VdError({ code: "attr", where: "graph taps", expected: "a Set of names", got: String(options.taps) });
    this.taps = options.taps ?? new Set();
    this.dtype = options.dtype ?? "f32";
  }

  /** A tensor that is written before each run, by its name. */
  input(name: string, dims: readonly number[], dtype: DType = this.dtype): Tensor {
    return this.named(this.inputs, "io", name, dims, dtype);
  }

  /** A tensor that must be written before each run: its place in the arena serves others once the last row has read it. */
  arenaInput(name: string, dims: readonly number[], dtype: DType = this.dtype): Tensor {
    return this.named(this.inputs, "arena", name, dims, dtype);
  }

  /** A tensor that keeps its contents from run to run; rows assign it through `out`. Zero at first. */
  state(name: string, dims: readonly number[], dtype: DType = this.dtype): Tensor {
    return this.named(this.states, "state", name, dims, dtype);
  }

  /** Makes `t` readable after a run under `name`. */
  output(name: string, t: Tensor): void {
    checkName("output", name);
    requireTensor(`output] [${name}`, t);
    if (this.outputs.has(name)) throw new VdError({ code: "attr", where: "output", expected: "a new name", got: name });
    for (const finish of this.finishers) finish();
    this.outputs.set(name, t);
  }

  /** A packed tensor without contents, for rows that fill it in parts through `out`. */
  empty(dims: readonly number[], dtype: DType = this.dtype): Tensor {
    checkShape("empty", dims, dtype);
    return packedTensor(makeStorage("arena", packedBytes(dims, dtype), "arena"), dims, dtype);
  }

  /** A read-only tensor with the given values, made once. data: as many numbers as `dims` has elements. */
  constant(data: Float32Array, dims: readonly number[]): Tensor {
    checkShape("constant", dims, "f32");
    checkCount("constant", { dims, dtype: "f32" }, data);
    const buffer = allocateBuffer(data.byteLength);
    buffer.writeSync(data);
    const storage = makeStorage("weights", data.byteLength, "constant", { buffer, byteOffset: 0 });
    return packedTensor(storage, dims, "f32");
  }

  /** True if the intermediate tensor `name` was asked for. */
  wants(name: string): boolean {
    return this.taps.has("*") || this.taps.has(name);
  }

  /** Keeps an intermediate tensor as output `name` if it was asked for; `make` then records what fusion left out. */
  tap(name: string, make: Tensor | (() => Tensor)): void {
    if (this.wants(name) && !this.outputs.has(name)) this.output(name, typeof make === "function" ? make() : make);
  }

  /** Sends every further call through `rewrite`, before any rewriting that was asked for earlier: a way to record a model
   *  differently, e.g. without fusions, that its modules know nothing of. */
  rewriteCalls(rewrite: RewriteCall): void {
    const record = this.recordCall;
    this.recordCall = (op, options) => rewrite(op, options, record);
    // What the last rewriting holds back goes through the ones before it.
    if (rewrite.finish) this.finishers.unshift(() => rewrite.finish!(record));
  }

  protected record(op: OpId, options: CallOptions): Tensor {
    return this.recordCall(op, options);
  }

  private readonly finishers: (() => void)[] = [];

  private recordCall: RecordCall = (op, options) => this.addRow(op, options);

  private addRow(op: OpId, options: CallOptions): Tensor {
    const name = options?.name ?? `${op}#${this.rows.length}`;
    checkName(op, name);
    const call = checkCall(op, name, options as CallOptions & Record<string, unknown>);
    const specs = Object.entries(OPS[op].outputs) as [string, TensorSpec][];
    checkFurther(`${name}] [${op}`, specs.slice(1), options.outputs);
    const results = call.outputs.map((shape, i) => {
      const [output, { dtype }] = specs[i]!;
      const given = i === 0 ? options.out : options.outputs?.[output];
      if (given) return checkPlace(`${name}] [${op}] [${i === 0 ? "out" : output}`, shape, given, dtype);
      return i === 0 ? this.empty(shape.dims, shape.dtype) : undefined;
    });
    this.rows.push({ op, name, attrs: call.attrs, inputs: call.inputs, outputs: results, flops: call.flops });
    return results[0]!;
  }

  private named(map: Map<string, Tensor>, kind: StorageKind, name: string, dims: readonly number[], dtype: DType) {
    checkName(kind, name);
    if (map.has(name)) throw new VdError({ code: "attr", where: kind, expected: "a new name", got: name });
    checkShape(name, dims, dtype);
    const tensor = packedTensor(makeStorage(kind, packedBytes(dims, dtype), name), dims, dtype);
    map.set(name, tensor);
    return tensor;
  }
}

/** Refuses names that are no texts. */
function checkName(where: string, name: unknown): void {
  if (typeof name === "string") return;
  throw new VdError({ code: "attr", where, expected: "a name as a text", got: name === null ? "null" : typeof name });
}

/** Only optional results may be asked for through `outputs`; the first one has its place in `out`. */
function checkFurther(
  where: string,
  further: readonly (readonly [string, TensorSpec])[],
  given: CallOptions["outputs"],
): void {
  const known = further.map(([name]) => name);
  for (const name of Object.keys(given ?? {}))
    if (!known.includes(name))
      throw new VdError({
        code: "attr",
        where: `${where}] [outputs`,
        expected: known.length > 0 ? `one of ${known.join(", ")}` : "no further results",
        got: name,
      });
}

function checkPlace(
  where: string,
  shape: Pick<Tensor, "dims" | "dtype">,
  out: Tensor,
  types: readonly DType[],
): Tensor {
  const same = shape.dims.length === out.dims.length && shape.dims.every((dim, i) => dim === out.dims[i]);
  if (!same) throw new VdError({ code: "shape", where, expected: describe(shape), got: describe(out) });
  if (!types.includes(out.dtype))
    throw new VdError({ code: "dtype", where, expected: types.join(" or "), got: describe(out) });
  const end = out.byteOffset + spanOf(out.dims, out.pitch) * elementBytes(out.dtype);
  if (end > out.storage.bytes)
    throw new VdError({
      code: "layout",
      where,
      expected: `a place inside ${out.storage.bytes} bytes`,
      got: `one that ends at byte ${end}`,
    });
  return out;
}
