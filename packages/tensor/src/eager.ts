import { allocateBuffer, type Device, type DType, OPS, type OpId, requireOptions, VdError } from "@vd/kernels-native";
import { requireDevice } from "./devices/require-device";
import { Graph, makeStorage, packedTensor } from "./graph";
import type { GraphOps } from "./graph-ops.generated";
import { checkCount, readHostSync, writeHostSync } from "./host";
import { opMethod, recordOp } from "./op-method";
import { layoutGraph } from "./plan/layout";
import { observed, type WorkObserver } from "./plan/observer";
import { Plan } from "./plan/plan";
import { type CallOptions, checkShape, describe, isTensor, packedBytes, type Storage, type Tensor } from "./tensor";

/** The ops of {@link GraphOps}, each computed at once. */
export type EagerOps = {
  [Name in keyof GraphOps]: GraphOps[Name] extends (options: infer Options) => Tensor
    ? (options: Options) => Promise<Tensor>
    : never;
};

/** How to compute eagerly. */
export interface EagerOptions {
  /** Hears of every op as a scope of its name with the plan of one row inside, and of tensors that are written and
   *  read: a profiler. */
  observer?: WorkObserver | undefined;
}

/** Refuses a tensor of a graph, which has no contents outside its plan. @throws VdError `layout` */
function requireContents(where: string, tensor: Tensor): void {
  if (isTensor(tensor) && (tensor.storage.fill || tensor.storage.place)) return;
  throw new VdError({
    code: "layout",
    where,
    expected: "a tensor with contents, as eager mode makes them",
    got: isTensor(tensor) ? `${describe(tensor)} of a graph` : String(tensor),
    hint: "Make it by `tensor` or `zeros`; what a graph records is computed by its plan.",
  });
}

/** Runs single ops at once, each as a plan of one row: for debugging and bisecting, not for speed. */
export class Eager {
  readonly ops: EagerOps;
  private readonly observer: WorkObserver | undefined;

  constructor(
    readonly device: Device,
    options: EagerOptions = {},
  ) {
    requireDevice("eager", device);
    requireOptions("eager", options);
    this.observer = options.observer;
    const entries = (Object.keys(OPS) as OpId[]).map((id) => {
      return [opMethod(id), (options: CallOptions) => this.runOne(opMethod(id), (g) => recordOp(g, id, options))];
    });
    this.ops = Object.fromEntries(entries) as EagerOps;
  }

  /** A tensor with the given numbers; `constant` ones count as weights, which backends may pack. */
  tensor(data: ArrayLike<number>, dims: readonly number[], dtype: DType = "f32", constant = false): Tensor {
    checkShape("eager", dims, dtype);
    checkCount("eager", { dims, dtype }, data);
    const tensor = packedTensor(this.block(packedBytes(dims, dtype), constant), dims, dtype);
    observed(this.observer, "write", () => writeHostSync(tensor.storage.place!.buffer, 0, tensor, data));
    return tensor;
  }

  /** A tensor of zeros. */
  zeros(dims: readonly number[], dtype: DType = "f32"): Tensor {
    checkShape("eager", dims, dtype);
    return packedTensor(this.block(packedBytes(dims, dtype), false), dims, dtype);
  }

  /** The elements as numbers. */
  readSync(tensor: Tensor): Float32Array {
    requireContents("readSync", tensor);
    const { buffer, byteOffset } = tensor.storage.place!;
    return observed(this.observer, "readback", () => readHostSync(buffer, byteOffset, tensor));
  }

  private block(bytes: number, constant: boolean): Storage {
    const place = { buffer: allocateBuffer(bytes), byteOffset: 0 };
    return makeStorage(constant ? "weights" : "state", bytes, "eager", place);
  }

  private runOne(name: string, record: (g: Graph) => Tensor): Promise<Tensor> {
    return observed(this.observer, name, () => this.runRow(name, record));
  }

  private async runRow(name: string, record: (g: Graph) => Tensor): Promise<Tensor> {
    const graph = new Graph();
    const shape = record(graph);
    const row = graph.rows[0]!;
    const { inputs, outputs } = OPS[row.op];
    // The first result is made here where it has no place.
    const given = [...Object.keys(inputs), ...Object.keys(outputs).slice(1)];
    for (const [i, tensor] of [...row.inputs, ...row.outputs.slice(1)].entries())
      if (tensor) requireContents(`${row.name}] [${row.op}] [${given[i]}`, tensor);
    const result = shape.storage.place ? shape : this.zeros(shape.dims, shape.dtype);
    const plan = await Plan.load(
      this.device,
      layoutGraph((g) => void g.rows.push({ ...row, outputs: [result, ...row.outputs.slice(1)] })),
      { name, observer: this.observer },
    );
    try {
      await plan.run();
    } finally {
      plan.freeSync();
    }
    return result;
  }
}

/**
 * Eager mode on `device`.
 *
 * @example
 * ```ts
 * import { openDevice } from "@vd/kernels-native";
 * import { eager } from "@vd/tensor";
 *
 * const e = eager(openDevice("cpu"));
 * const x = e.tensor([1, 2, 3, 4], [1, 1, 2, 2]);
 * console.log(e.readSync(await e.ops.pointwise({ a: x, aScale: 2 }))); // 2 4 6 8
 * ```
 */
export const eager = (device: Device, options?: EagerOptions): Eager => new Eager(device, options);
