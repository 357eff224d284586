import {
  type BufferCopy,
  type Device,
  type DeviceBuffer,
  type FloatsRead,
  type Program,
  type ProgramInfo,
  type RejectedVariant,
  type RunTimes,
  requireOptions,
  VdError,
} from "@vd/kernels-native";
import { requireDevice } from "../devices/require-device";
import type { GraphOptions } from "../graph";
import { readHost, readHostPlanes, readHostSync, writeCheckedHost, writeHost, writeHostSync } from "../host";
import { describe, packedBytes, type Tensor } from "../tensor";
import { tunedVariants } from "../tune/choose";
import { type GraphLayout, layoutGraph, type PlanCost, type PlanMemory, type Recording } from "./layout";
import { type LoadedPlan, observed, type WorkObserver } from "./observer";
import { placedRows } from "./placed-rows";
import { Placement } from "./placement";
import {
  type CopiedBytes,
  type PlanOptions,
  type PreparedPlan,
  type QueueOptions,
  type RunOptions,
  requireArena,
  requirePacked,
  requireSignal,
} from "./plan-options";
import { PlanRuns } from "./plan-runs";
import { Staging } from "./staging";

/**
 * A graph loaded on a device: write inputs, run, read outputs, as often as needed.
 *
 * @example
 * ```ts
 * import { openDevice } from "@vd/kernels-native";
 * import { layoutGraph, Plan } from "@vd/tensor";
 *
 * const layout = layoutGraph((g) => {
 *   const x = g.input("x", [1, 1, 2, 2]);
 *   g.output("y", g.pointwise({ a: x, act: "silu" }));
 * });
 * const plan = await Plan.load(openDevice("cpu"), layout);
 * await plan.write("x", [1, 2, 3, 4]);
 * await plan.run();
 * console.log(await plan.read("y"));
 * await plan.free();
 * ```
 */
export class Plan {
  private readonly staging: Staging;
  private readonly runs: PlanRuns;

  private constructor(
    readonly layout: GraphLayout,
    private readonly placement: Placement,
    private readonly program: Program,
    private readonly observer: WorkObserver | undefined,
    private readonly observedAs: LoadedPlan,
    /** Whether a run may be asked for while the one before it is under way, and begins when that has ended: of recorded rows on a GPU. */
    readonly queuesRuns: boolean,
  ) {
    this.staging = new Staging(observedAs.device);
    this.runs = new PlanRuns(program, placement, this.staging);
    observer?.planLoaded(observedAs);
  }

  /**
   * Allocates what the layout planned and prepares the rows.
   *
   * @throws VdError `memory` or what the device refuses
   */
  static async load(device: Device, layout: GraphLayout, options: PlanOptions = {}): Promise<Plan> {
    requireOptions("plan", options);
    return observed(options.observer, "load", async () => (await Plan.prepared(device, layout, options)).load());
  }

  /**
   * Does what {@link load} does without the device's memory, so that little is left to do when that becomes free: weights are made that are
   * made on first use, and rows encoded.
   *
   * @throws VdError as {@link load}
   */
  static async prepare(device: Device, layout: GraphLayout, options: PlanOptions = {}): Promise<PreparedPlan> {
    requireOptions("plan", options);
    const { load } = await Plan.prepared(device, layout, options);
    return { load: () => observed(options.observer, "load", load) };
  }

  private static async prepared(device: Device, layout: GraphLayout, options: PlanOptions): Promise<PreparedPlan> {
    requireDevice("plan", device);
    requireArena(layout, options.arena);
    const { words, places } = await placedRows(layout, device);
    const placement = new Placement(places, device, options.arena);
    await device.prepare();
    const wanted = options.variants
      ? { variants: options.variants }
      : await tunedVariants(device, layout, options.tuning);
    const names = layout.graph.rows.map((row) => row.name);
    const load = async () => {
      await placement.allocate();
      try {
        // Runs that are observed measure their rows and replay nothing.
        const capture = options.capture && options.observer === undefined;
        const program = await device.compile(words, names, placement.bindings, { ...options, capture, ...wanted });
        const loaded = { name: options.name ?? "plan", layout, device, info: program.info };
        const queuesRuns = capture === true && device.kind === "cuda";
        return new Plan(layout, placement, program, options.observer, loaded, queuesRuns);
      } catch (error) {
        await placement.free({ isIdle: true });
        throw error;
      }
    };
    return { load };
  }

  get memory(): PlanMemory {
    return this.layout.memory;
  }

  get cost(): PlanCost {
    return this.layout.cost;
  }

  /** What only the device knows: packed weights, working memory, which rows are fast. */
  get info(): ProgramInfo {
    return this.observedAs.info;
  }

  /** Per row: the kernel variants that it could have, the device's own choice first; empty on the CPU. */
  get candidates(): string[][] {
    return this.program.candidates;
  }

  /** Per row: the kernel variants, or families of them, that it cannot have, and why; empty on the CPU, and unless the plan
   *  was loaded with `explain`. */
  get rejected(): RejectedVariant[][] {
    return this.program.rejected;
  }

  /** Fills input or state `name`. data: its elements in order; numbers are converted to its type. */
  writeSync(name: string, data: ArrayLike<number>): void {
    const tensor = this.writable(name);
    const { buffer, byteOffset } = this.placeOf(tensor);
    observed(this.observer, "write", () => writeHostSync(buffer, byteOffset, tensor, data));
  }

  /** Does what {@link writeSync} does, off the event loop: what the device copies meanwhile comes first. `data` must not change before
   *  the promise settles. */
  async write(name: string, data: ArrayLike<number>): Promise<void> {
    const tensor = this.writable(name);
    const { buffer, byteOffset } = this.placeOf(tensor);
    await observed(this.observer, "write", () => writeHost(buffer, byteOffset, tensor, data));
  }

  /**
   * Fills input or state `name` for the run that begins next. The one before may be under way: rows read the contents when that run has copied
   * them, which on a GPU takes no turn of the host.
   *
   * @throws VdError as {@link write}, `memory`
   */
  async stage(name: string, data: ArrayLike<number>): Promise<void> {
    const tensor = this.writable(name);
    requirePacked(name, tensor);
    await observed(this.observer, "write", () => this.staging.write(name, tensor, this.placeOf(tensor), data));
  }

  /** Returns what was staged, for a run to begin with that is asked for when more was staged: the next one without it. */
  takeStaged(): BufferCopy[] {
    return this.staging.take();
  }

  /**
   * Does what {@link write} does with numbers for an input or state of 16 or 32-bit floats, and tells their largest magnitude, NaN where one
   * is: values are looked through on their way. All are written, whatever they are.
   *
   * @throws VdError `dtype` for tensors and arrays of other types, `shape`
   */
  async writeChecked(name: string, data: Float32Array): Promise<number> {
    const tensor = this.writable(name);
    const { buffer, byteOffset } = this.placeOf(tensor);
    return observed(this.observer, "write", () => writeCheckedHost(buffer, byteOffset, tensor, data));
  }

  /**
   * Fills input or state `name` with output or state `from` of another plan on the same device, without the host in
   * between, or on another GPU, from which the driver copies.
   *
   * @throws VdError `shape` or `dtype` where they differ, `layout` for a view with gaps
   */
  copyFromSync(name: string, source: Plan, from: string): void {
    const { into, outOf, start, end, bytes } = this.copyBetween(name, source, from);
    observed(this.observer, "write", () => into.copyFromSync(outOf, start, end, bytes));
  }

  /** Does what {@link copyFromSync} does, off the event loop. */
  async copyFrom(name: string, source: Plan, from: string): Promise<void> {
    const { into, outOf, start, end, bytes } = this.copyBetween(name, source, from);
    await observed(this.observer, "write", () => into.copyFrom(outOf, start, end, bytes));
  }

  /**
   * Fills a part of packed input or state `name` from a buffer of the host or of the same device, off the event loop.
   *
   * @throws VdError `layout` outside of the tensor or of the buffer
   */
  async copyIn(name: string, source: DeviceBuffer, part: CopiedBytes): Promise<void> {
    requireOptions("copyIn", part);
    const { from, to, bytes } = part;
    const { buffer, start } = this.partOf(this.writable(name), to, bytes);
    await observed(this.observer, "write", () => buffer.copyFrom(source, from, start, bytes));
  }

  /**
   * Copies a part of packed output or state `name` into a buffer of the host or of the same device, off the event loop.
   *
   * @throws VdError `layout` outside of the tensor or of the buffer
   */
  async copyOut(name: string, target: DeviceBuffer, part: CopiedBytes): Promise<void> {
    requireOptions("copyOut", part);
    const { from, to, bytes } = part;
    const { buffer, start } = this.partOf(this.readable(name), from, bytes);
    await observed(this.observer, "readback", () => target.copyFrom(buffer, start, to, bytes));
  }

  /** Where a part of a packed tensor lies. */
  private partOf(tensor: Tensor, at: number, bytes: number): { buffer: DeviceBuffer; start: number } {
    const { buffer, byteOffset } = this.placeOf(tensor);
    const all = packedBytes(tensor.dims, tensor.dtype);
    requirePacked(tensor.storage.name, tensor);
    const isRange = Number.isInteger(at) && Number.isInteger(bytes) && at >= 0 && bytes >= 0;
    if (!isRange || at + bytes > all) {
      const [expected, got] = [
        `bytes of the ${all} of ${describe(tensor)}`,
        isRange ? `${at} to ${at + bytes}` : `${bytes} from ${at} on`,
      ];
      throw new VdError({ code: "layout", where: `plan] [${tensor.storage.name}`, expected, got });
    }
    return { buffer, start: byteOffset + tensor.byteOffset + at };
  }

  /**
   * Returns what {@link copyFrom} copies, for a run to begin with.
   *
   * @throws VdError as {@link copyFrom}
   */
  copyOf(name: string, source: Plan, from: string): BufferCopy {
    const { into, outOf, start, end, bytes } = this.copyBetween(name, source, from);
    return { target: into, to: end, source: outOf, from: start, bytes };
  }

  /** What a copy of another plan's tensor moves, and where to. */
  private copyBetween(name: string, source: Plan, from: string) {
    if (!(source instanceof Plan))
      throw new VdError({
        ...{ code: "attr", where: `plan] [${name}`, expected: "another plan to copy from" },
        got: source === null ? "null" : typeof source,
      });
    const [to, tensor] = [this.writable(name), source.readable(from)];
    const where = `plan] [${name}`;
    if (describe(to) !== describe(tensor))
      throw new VdError({ code: "shape", where, expected: describe(to), got: describe(tensor) });
    requirePacked(name, tensor);
    const [target, origin] = [this.placement.placeOf(to), source.placement.placeOf(tensor)];
    const bytes = packedBytes(to.dims, to.dtype);
    const [start, end] = [origin.byteOffset + tensor.byteOffset, target.byteOffset + to.byteOffset];
    return { into: this.placement.bufferOf(to), outOf: source.placement.bufferOf(tensor), start, end, bytes };
  }

  /** The contents of output or state `name` as numbers. */
  readSync(name: string): Float32Array {
    const tensor = this.readable(name);
    const { buffer, byteOffset } = this.placeOf(tensor);
    return observed(this.observer, "readback", () => readHostSync(buffer, byteOffset, tensor));
  }

  /** Does what {@link readSync} does, off the event loop: for outputs of many megabytes. */
  read(name: string): Promise<Float32Array> {
    return this.readChecked(name).then(({ values }) => values);
  }

  /**
   * Does what {@link read} does, and tells the index of the first number that is not finite, for outputs of 16 and 32-bit floats. into: what to
   * fill and give instead of a new array, as of `DeviceBuffer.readCheckedFloats`.
   *
   * @throws VdError `shape` for an array of another length
   */
  readChecked(name: string, into?: Float32Array): Promise<FloatsRead> {
    const tensor = this.readable(name);
    const { buffer, byteOffset } = this.placeOf(tensor);
    return observed(this.observer, "readback", () => readHost(buffer, byteOffset, tensor, into));
  }

  /**
   * Does what {@link readChecked} does with pixels, [..,H,W,C], as planes, [..,C,H,W].
   *
   * @throws VdError `dtype` for other types than floats of 16 and 32 bits, `shape` for an array of another length
   */
  readPlanes(name: string, into?: Float32Array): Promise<FloatsRead> {
    const tensor = this.readable(name);
    const { buffer, byteOffset } = this.placeOf(tensor);
    return observed(this.observer, "readback", () => readHostPlanes(buffer, byteOffset, tensor, into));
  }

  /**
   * The bytes of packed output or state `name` as they are stored, off the event loop. into: what to fill and give instead of a new array, as of
   * `DeviceBuffer.readBytes`.
   *
   * @throws VdError `layout` for a view with gaps, `shape` for an array of another length
   */
  async readBytes(name: string, into?: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    const tensor = this.readable(name);
    requirePacked(name, tensor);
    const { buffer, byteOffset } = this.placeOf(tensor);
    const [start, bytes] = [byteOffset + tensor.byteOffset, packedBytes(tensor.dims, tensor.dtype)];
    return observed(this.observer, "readback", () => buffer.readBytes(start, bytes, into));
  }

  /**
   * Runs all rows off the event loop.
   *
   * @throws VdError `cancelled` if the signal fires
   */
  async run(options: RunOptions = {}): Promise<RunTimes> {
    requireOptions("run", options);
    requireSignal(options.signal);
    const { timing = this.observer !== undefined } = options;
    return observed(this.observer, "run", async () => {
      const times = await this.runs.run({ ...options, timing });
      if (timing) this.observer?.planRan(this.observedAs, times);
      return times;
    });
  }

  /**
   * Does what {@link run} does without waiting for its end: {@link wait} does. The CPU, and a plan with an observer, which measures each run,
   * wait for it all the same.
   *
   * @throws VdError `cancelled` if the signal fires
   */
  async queue(options: QueueOptions = {}): Promise<void> {
    requireOptions("queue", options);
    requireSignal(options.signal);
    const { after = [], ...how } = options;
    if (this.observer !== undefined) await this.run(how);
    else
      await this.runs.queue(
        how,
        after.map((plan) => plan.program),
      );
  }

  /** Waits for the run that was queued last. @throws VdError what it failed with on the device */
  wait(): Promise<void> {
    return this.runs.wait();
  }

  /** Lets go of what the plan allocated and packed; blocks that existed before stay. */
  freeSync(): void {
    observed(this.observer, "free", () => {
      this.program.freeSync();
      this.staging.free().catch(() => undefined);
      this.placement.freeSync();
    });
    this.observer?.planFreed(this.observedAs);
  }

  /** Does what {@link freeSync} does, off the event loop: what comes next finds the memory free. */
  async free(): Promise<void> {
    await observed(this.observer, "free", async () => {
      await this.program.free();
      await Promise.all([this.staging.free(), this.placement.free({ isIdle: this.runs.areOver })]);
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

/**
 * Records, plans and loads: `build` is called once over shapes.
 *
 * @example
 * ```ts
 * import { openDevice } from "@vd/kernels-native";
 * import { compile } from "@vd/tensor";
 *
 * const plan = await compile(openDevice("cpu"), (g) => {
 *   const x = g.input("x", [1, 1, 2, 2]);
 *   g.output("y", g.pointwise({ a: x, aScale: 2 }));
 * });
 * await plan.write("x", [1, 2, 3, 4]);
 * await plan.run();
 * console.log(await plan.read("y")); // 2 4 6 8
 * ```
 */
export async function compile(
  device: Device,
  build: Recording,
  options: GraphOptions & PlanOptions = {},
): Promise<Plan> {
  requireDevice("compile", device);
  return Plan.load(device, layoutGraph(build, options), options);
}
