import { setImmediate } from "node:timers/promises";
import {
  type Binding,
  type CompileOptions,
  type Device,
  type DeviceBuffer,
  type Program,
  type RunTimes,
  VdError,
} from "@vd/kernels-native";
import { Graph, type GraphOptions } from "../graph";
import { fetchHost, readHost, writeHost } from "../host";
import type { Row } from "../row";
import { describe, packedBytes, type Storage, type Tensor } from "../tensor";
import { type Tuning, tunedVariants } from "../tune/choose";
import { planArena } from "./arena";
import { encodeRows, type Place } from "./encode";
import { arenaLifetimes } from "./lifetimes";
import { type LoadedPlan, observed, type WorkObserver } from "./observer";

/** Bytes of a plan by kind, known before anything is allocated. */
export interface PlanMemory {
  /** Read-only operands, as stored; blocks shared with other plans are counted in each. */
  weightBytes: number;
  stateBytes: number;
  ioBytes: number;
  arenaBytes: number;
  /** State, io and arena: what the plan allocates. */
  peakBytes: number;
}

/** What one run of a plan costs. */
export interface PlanCost {
  numRows: number;
  flops: number;
  /** Operands read plus results written, each row on its own. */
  bytes: number;
}

/** A recorded graph with every block placed; nothing is allocated. */
export interface PlanLayout {
  graph: Graph;
  memory: PlanMemory;
  cost: PlanCost;
  byteOffsets: ReadonlyMap<number, number>;
}

const tensorsOf = (row: Row) => [...row.inputs, ...row.outputs].filter((t): t is Tensor => t !== undefined);

function storagesOf(graph: Graph): Storage[] {
  const found = new Map<number, Storage>();
  const named = [...graph.inputs.values(), ...graph.states.values(), ...graph.outputs.values()];
  for (const tensor of [...graph.rows.flatMap(tensorsOf), ...named]) found.set(tensor.storage.id, tensor.storage);
  return [...found.values()];
}

/** How long making weights may keep the event loop waiting at a stretch, in ms. */
const SLICE_MS = 2;

/** Makes weights that are made on first use, letting the event loop turn. */
async function fillWeights(graph: Graph): Promise<void> {
  let end = performance.now() + SLICE_MS;
  for (const storage of storagesOf(graph))
    while (storage.fill?.()) {
      if (performance.now() < end) continue;
      await setImmediate();
      end = performance.now() + SLICE_MS;
    }
}

function costOf(graph: Graph): PlanCost {
  const bytesOf = (row: Row) => tensorsOf(row).reduce((sum, t) => sum + packedBytes(t.dims, t.dtype), 0);
  return {
    numRows: graph.rows.length,
    flops: graph.rows.reduce((sum, row) => sum + row.flops, 0),
    bytes: graph.rows.reduce((sum, row) => sum + bytesOf(row), 0),
  };
}

/** Records `build` over shapes and places every block. Throws VdError from the ops' checks. */
export function layoutPlan(build: (graph: Graph) => void, options: GraphOptions = {}): PlanLayout {
  const graph = new Graph(options);
  build(graph);
  const arena = planArena(arenaLifetimes(graph));
  const storages = storagesOf(graph);
  const bytesOf = (kind: Storage["kind"]) =>
    storages.filter((s) => s.kind === kind).reduce((sum, s) => sum + s.bytes, 0);
  const [stateBytes, ioBytes] = [bytesOf("state"), bytesOf("io")];
  const memory = {
    weightBytes: weightBytesOf(graph),
    stateBytes,
    ioBytes,
    arenaBytes: arena.bytes,
    peakBytes: stateBytes + ioBytes + arena.bytes,
  };
  return { graph, memory, cost: costOf(graph), byteOffsets: arena.byteOffsets };
}

/** Each weight tensor once; a mapped file holds many. */
function weightBytesOf(graph: Graph): number {
  const seen = new Map<string, number>();
  for (const tensor of graph.rows.flatMap(tensorsOf))
    if (tensor.storage.kind === "weights")
      seen.set(`${tensor.storage.id}:${tensor.byteOffset}`, packedBytes(tensor.dims, tensor.dtype));
  return [...seen.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** A block that a plan allocates. */
interface OwnBlock {
  bytes: number;
  /** Existing host memory that it stands for on a device with memory of its own. */
  host?: { buffer: DeviceBuffer; byteOffset: number };
}

/** Buffers and places of all storages of one loaded plan. Places come first; blocks of the plan's own follow by
 *  {@link allocate}. */
class Placement {
  private readonly slots: (Binding | OwnBlock)[] = [];
  private own: DeviceBuffer[] = [];
  private readonly mirrors: { buffer: DeviceBuffer; byteOffset: number; bytes: number; copy: DeviceBuffer }[] = [];
  private arenaIndex: number | undefined;
  private readonly places = new Map<number, Place>();

  constructor(
    private readonly layout: PlanLayout,
    private readonly device: Device,
  ) {}

  placeOf(tensor: Tensor): Place {
    const { storage } = tensor;
    let place = this.places.get(storage.id);
    if (!place) {
      place = this.find(storage);
      this.places.set(storage.id, place);
    }
    return place;
  }

  bufferOf(tensor: Tensor): DeviceBuffer {
    return this.bindings[this.placeOf(tensor).bufferIndex]!.buffer;
  }

  get bindings(): readonly Binding[] {
    return this.slots as Binding[];
  }

  /** Allocates what has no block yet; on failure nothing stays allocated. Throws VdError `memory`. */
  async allocate(): Promise<void> {
    try {
      for (const [i, slot] of this.slots.entries()) {
        if ("buffer" in slot) continue;
        const buffer = await this.device.allocate(slot.bytes);
        this.own.push(buffer);
        this.slots[i] = { buffer, constant: false };
        if (slot.host) this.mirrors.push({ ...slot.host, bytes: slot.bytes, copy: buffer });
      }
    } catch (error) {
      this.free();
      throw error;
    }
  }

  /** Brings the contents of existing host memory to the device. */
  copyIn(): void {
    for (const { buffer, byteOffset, bytes, copy } of this.mirrors) copy.copyFrom(buffer, byteOffset, 0, bytes);
  }

  /** Brings what rows wrote back to it. */
  copyOut(): void {
    for (const { buffer, byteOffset, bytes, copy } of this.mirrors) buffer.copyFrom(copy, 0, byteOffset, bytes);
  }

  private find(storage: Storage): Place {
    const constant = storage.kind === "weights";
    const { place, bytes } = storage;
    if (place?.buffer.onHost && !constant && this.device.kind !== "cpu")
      return { bufferIndex: this.add({ bytes, host: place }), byteOffset: 0 };
    if (storage.place)
      return { bufferIndex: this.bind(storage.place.buffer, constant), byteOffset: storage.place.byteOffset };
    if (storage.kind !== "arena") return { bufferIndex: this.add({ bytes: storage.bytes }), byteOffset: 0 };
    this.arenaIndex ??= this.add({ bytes: this.layout.memory.arenaBytes });
    return { bufferIndex: this.arenaIndex, byteOffset: this.layout.byteOffsets.get(storage.id)! };
  }

  /** Frees the blocks that this plan allocated. */
  free(): void {
    for (const buffer of this.own) buffer.free();
    this.own = [];
  }

  /** The same off the event loop. */
  async release(): Promise<void> {
    const { own } = this;
    this.own = [];
    for (const buffer of own) await buffer.release();
  }

  private bind(buffer: DeviceBuffer, constant: boolean): number {
    const known = this.slots.findIndex(
      (slot) => "buffer" in slot && slot.buffer === buffer && slot.constant === constant,
    );
    return known >= 0 ? known : this.add({ buffer, constant });
  }

  private add(slot: Binding | OwnBlock): number {
    this.slots.push(slot);
    return this.slots.length - 1;
  }
}

/** How a plan runs. */
export interface RunOptions {
  /** Stops before the next row; the run then throws VdError `cancelled`. */
  signal?: AbortSignal | undefined;
  /** Measure every row. Default: if somebody observes the plan. */
  timing?: boolean;
}

/** How a plan is loaded. */
export interface PlanOptions extends CompileOptions {
  /** Which table decides the kernel variants of rows on a GPU, unless `variants` does. Default: the one that comes with
   *  the package for the device; false for the device's own choice. */
  tuning?: Tuning;
  /** What the observer calls the plan; default `plan`. */
  name?: string | undefined;
  /** Hears of everything that is done with the plan; every run then measures its rows. */
  observer?: WorkObserver | undefined;
}

/** A graph loaded on a device: write inputs, run, read outputs, as often as needed. */
export class Plan {
  private constructor(
    readonly layout: PlanLayout,
    private readonly placement: Placement,
    private readonly program: Program,
    private readonly observer: WorkObserver | undefined,
    private readonly observedAs: LoadedPlan,
  ) {
    observer?.planLoaded(observedAs);
  }

  /** Allocates what the layout planned and prepares the rows. Throws VdError `memory` or what the device refuses. */
  static load(device: Device, layout: PlanLayout, options: PlanOptions = {}): Promise<Plan> {
    return observed(options.observer, "load", () => Plan.prepare(device, layout, options));
  }

  private static async prepare(device: Device, layout: PlanLayout, options: PlanOptions): Promise<Plan> {
    await fillWeights(layout.graph);
    const placement = new Placement(layout, device);
    const words = encodeRows(layout.graph.rows, (tensor) => placement.placeOf(tensor));
    for (const named of [layout.graph.inputs, layout.graph.states, layout.graph.outputs])
      for (const tensor of named.values()) placement.placeOf(tensor);
    const names = layout.graph.rows.map((row) => row.name);
    await device.prepare();
    await placement.allocate();
    try {
      const variants = options.variants ?? (await tunedVariants(device, layout, options.tuning));
      const program = await device.compile(words, names, placement.bindings, { ...options, variants });
      const loaded = { name: options.name ?? "plan", layout, device, info: program.info };
      return new Plan(layout, placement, program, options.observer, loaded);
    } catch (error) {
      placement.free();
      throw error;
    }
  }

  get memory(): PlanMemory {
    return this.layout.memory;
  }

  get cost(): PlanCost {
    return this.layout.cost;
  }

  /** What only the device knows: packed weights, working memory, which rows are fast. */
  get info() {
    return this.program.info;
  }

  /** Per row: the kernel variants that it could have, the device's own choice first; empty on the CPU. */
  get candidates(): string[][] {
    return this.program.candidates;
  }

  /** Fills input or state `name`. data: its elements in order; numbers are converted to its type. */
  write(name: string, data: ArrayLike<number>): void {
    const tensor = this.writable(name);
    const { buffer, byteOffset } = this.placeOf(tensor);
    observed(this.observer, "write", () => writeHost(buffer, byteOffset, tensor, data));
  }

  /** Fills input or state `name` with output or state `from` of another plan on the same device, without the host in
   *  between. Throws VdError `shape` or `dtype` where they differ, `layout` for a view with gaps. */
  copyFrom(name: string, source: Plan, from: string): void {
    const [to, tensor] = [this.writable(name), source.readable(from)];
    const where = `plan] [${name}`;
    if (describe(to) !== describe(tensor))
      throw new VdError({ code: "shape", where, expected: describe(to), got: describe(tensor) });
    if (tensor.pitch !== tensor.dims[tensor.dims.length - 1])
      throw new VdError({ code: "layout", where, expected: "a packed tensor", got: `a pitch of ${tensor.pitch}` });
    const [target, origin] = [this.placement.placeOf(to), source.placement.placeOf(tensor)];
    const bytes = packedBytes(to.dims, to.dtype);
    const [start, end] = [origin.byteOffset + tensor.byteOffset, target.byteOffset + to.byteOffset];
    const [into, outOf] = [this.placement.bufferOf(to), source.placement.bufferOf(tensor)];
    observed(this.observer, "write", () => into.copyFrom(outOf, start, end, bytes));
  }

  /** The contents of output or state `name` as numbers. */
  read(name: string): Float32Array {
    const tensor = this.readable(name);
    const { buffer, byteOffset } = this.placeOf(tensor);
    return observed(this.observer, "readback", () => readHost(buffer, byteOffset, tensor));
  }

  /** As {@link read}, off the event loop: for outputs of many megabytes. */
  fetch(name: string): Promise<Float32Array> {
    const tensor = this.readable(name);
    const { buffer, byteOffset } = this.placeOf(tensor);
    return observed(this.observer, "readback", () => fetchHost(buffer, byteOffset, tensor));
  }

  /** The bytes of packed output or state `name` as they are stored, off the event loop. */
  fetchBytes(name: string): Promise<Uint8Array<ArrayBuffer>> {
    const tensor = this.readable(name);
    const { buffer, byteOffset } = this.placeOf(tensor);
    const [start, bytes] = [byteOffset + tensor.byteOffset, packedBytes(tensor.dims, tensor.dtype)];
    return observed(this.observer, "readback", () => buffer.fetchBytes(start, bytes));
  }

  /** Runs all rows off the event loop. Throws VdError `cancelled` if the signal fires. */
  run(options: RunOptions = {}): Promise<RunTimes> {
    return observed(this.observer, "run", () => this.runRows(options));
  }

  private async runRows({ signal, timing = this.observer !== undefined }: RunOptions): Promise<RunTimes> {
    if (signal?.aborted) throw cancelledError();
    const cancel = () => this.program.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      this.placement.copyIn();
      const times = await this.program.run({ timing });
      this.placement.copyOut();
      if (signal?.aborted) throw cancelledError();
      if (timing) this.observer?.planRan(this.observedAs, times);
      return times;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** Lets go of what the plan allocated and packed; blocks that existed before stay. */
  free(): void {
    observed(this.observer, "free", () => {
      this.program.free();
      this.placement.free();
    });
    this.observer?.planFreed(this.observedAs);
  }

  /** As {@link free}, off the event loop: what comes next finds the memory free. */
  async release(): Promise<void> {
    await observed(this.observer, "free", async () => {
      await this.program.release();
      await this.placement.release();
    });
    this.observer?.planFreed(this.observedAs);
  }

  private placeOf(tensor: Tensor): { buffer: DeviceBuffer; byteOffset: number } {
    return { buffer: this.placement.bufferOf(tensor), byteOffset: this.placement.placeOf(tensor).byteOffset };
  }

  private writable(name: string): Tensor {
    const { inputs, states } = this.layout.graph;
    return inputs.get(name) ?? states.get(name) ?? this.unknown("an input or state", [...inputs.keys()], name);
  }

  private readable(name: string): Tensor {
    const { outputs, states } = this.layout.graph;
    return outputs.get(name) ?? states.get(name) ?? this.unknown("an output or state", [...outputs.keys()], name);
  }

  private unknown(what: string, names: string[], got: string): never {
    throw new VdError({ code: "attr", where: "plan", expected: `${what}: ${names.join(", ")}`, got });
  }
}

/** The error of work that the caller cancelled. */
export function cancelledError(): VdError {
  return new VdError({ code: "cancelled", where: "run", expected: "the run to go on", got: "a cancel" });
}

/** Records, plans and loads: `build` is called once over shapes. */
export async function compile(
  device: Device,
  build: (graph: Graph) => void,
  options: GraphOptions & CompileOptions = {},
): Promise<Plan> {
  return Plan.load(device, layoutPlan(build, options), options);
}
