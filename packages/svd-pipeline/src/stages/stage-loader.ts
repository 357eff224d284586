import { checkUnchanged, type OpenFile } from "@vd/hub";
import type { BufferRange, CompileOptions, Device, DeviceBuffer } from "@vd/kernels-native";
import {
  type GraphLayout,
  observed,
  type Plan,
  type PlanOptions,
  type PreparedPlan,
  type SharedBlock,
  type Tuning,
  type WorkObserver,
} from "@vd/tensor";
import { isOutOfMemory, isOutOfPinned } from "./out-of-memory";
import { type PinnedWeights, streamBytesOf } from "./pinned-weights";
import { SharedArena } from "./shared-arena";
import {
  keyOf,
  type LoadedStage,
  loadStage,
  prepareStage,
  type StageDefinition,
  type StageLayouts,
  type StageMemory,
} from "./stage";

/** What stages are loaded with. */
export interface StageLoaderOptions {
  device: Device;
  layouts: StageLayouts;
  tuning: Tuning;
  /** The weights' files. */
  files: readonly OpenFile[];
  /** Lets go of a stage's weights before the next one. */
  trims: boolean;
  /** Keeps them in page-locked memory of the machine instead, and streams them from there. */
  pinned?: PinnedWeights | undefined;
  /** Hears that the machine refused page-locked memory; stages are then loaded as without it. */
  onUnpinned?: (() => void) | undefined;
  /** Keeps stages loaded until {@link StageLoader.free}, for generations that follow each other. Default: each is freed when it has run. */
  keeps?: boolean | undefined;
  observer?: WorkObserver | undefined;
  signal?: AbortSignal | undefined;
}

/** How one stage is loaded; by default on the loader's device. */
export type StageOptions = CompileOptions & Pick<PlanOptions, "arena"> & { device?: Device | undefined };

/** How a stage is loaded ahead of its use. */
export interface LoadAheadOptions extends CompileOptions {
  /** Where it works, if not in memory of its own. */
  shared?: SharedArena | undefined;
  /** Where in `shared` nothing else works until the stage is over, as far as `shared` reaches: what the stage's kernels have beside its tensors lies
   *  there. bytes: default all that follow. */
  sharedSpace?: { from: number; bytes?: number } | undefined;
  /** Stages of one lane are loaded one after the other, those of several beside each other; default: one for all. */
  lane?: string | undefined;
}

/** Returns what lies in a buffer from a byte on, at most `most` bytes; undefined where that is nothing. */
const partOf = (buffer: DeviceBuffer, from: number, most = Number.POSITIVE_INFINITY): BufferRange | undefined =>
  from < buffer.bytes ? { buffer, byteOffset: from, bytes: Math.min(buffer.bytes - from, most) } : undefined;

/** Loads the stages of one generation, each when it is run or ahead of that, and counts their memory. */
export class StageLoader {
  readonly memory: StageMemory = { ownBytes: 0, peakBytes: 0 };
  private readonly ahead = new Map<string, Promise<LoadedStage | undefined>>();
  /** Stages that have run and are still loaded. */
  private left: LoadedStage[] = [];
  private leaves = false;
  private freeing: Promise<unknown> = Promise.resolve();
  private readonly kept = new Map<string, LoadedStage>();
  /** What is prepared for the loader's device, by the stage's key; undefined where that failed. */
  private readonly preparing = new Map<string, Promise<{ layout: GraphLayout; plan: PreparedPlan } | undefined>>();
  /** Settle when everything that is loaded ahead is there: of a lane one stage after the other, so that the first is not late. */
  private readonly lanes = new Map<string, Promise<unknown>>();
  private isClosed = false;
  private pinned: PinnedWeights | undefined;

  constructor(private readonly options: StageLoaderOptions) {
    this.pinned = options.pinned;
  }

  /**
   * Hands the loaded stage to `body`, and frees it afterwards, also when that fails, or leaves it where {@link leaveStages} was called.
   *
   * @throws VdError as `Plan.load`, `io` where a file of weights was changed meanwhile
   */
  async run<T>(stage: StageDefinition, body: (plan: Plan) => Promise<T>, options: StageOptions = {}): Promise<T> {
    const loaded = await this.open(stage, options);
    try {
      return await body(loaded.plan);
    } finally {
      await this.leave(loaded);
    }
  }

  /** Leaves stages loaded from now on when they have run, until {@link freeLeft} or {@link dropAhead}: freeing makes the device wait. For stages
   *  that take turns in one memory, and hold little beside it. */
  leaveStages(): void {
    this.leaves = true;
  }

  /** Frees a stage that has run, unless stages are left; what is left gives way where memory runs out. */
  private async leave(loaded: LoadedStage): Promise<void> {
    if (this.leaves) this.left.push(loaded);
    else await loaded.release();
  }

  /** Begins to free the stages that were left, which {@link dropAhead} waits for. Nothing of them may run. */
  beginToFreeLeft(): void {
    const freeing = Promise.all([this.freeing, this.freeLeft()]);
    // Whoever waits for it hears of it.
    freeing.catch(() => undefined);
    this.freeing = freeing;
  }

  /** Frees the stages that were left. Nothing of them may run. */
  async freeLeft(): Promise<void> {
    const { left } = this;
    this.left = [];
    for (const each of left) await each.release();
  }

  /**
   * Loads stages that run by turns and share their states, `block`, and their working memory; hands them to `body`, and frees all of
   * it afterwards, also when that fails.
   *
   * @throws VdError as {@link run}
   */
  async runByTurns<T>(
    stages: readonly StageDefinition[],
    block: SharedBlock,
    body: (plans: readonly Plan[]) => Promise<T>,
    { device = this.options.device, ...rest }: StageOptions = {},
  ): Promise<T> {
    const { layouts, signal } = this.options;
    let arenaBytes = 1;
    for (const stage of stages)
      arenaBytes = Math.max(arenaBytes, (await layouts.inSlices(stage, signal)).memory.arenaBytes);
    const loaded: LoadedStage[] = [];
    let arena: DeviceBuffer | undefined;
    const sharedBytes = block.bytes + arenaBytes;
    this.memory.ownBytes += sharedBytes;
    try {
      await block.allocate(device);
      arena = await device.allocate(arenaBytes, { cleared: false });
      for (const stage of stages) loaded.push(await this.load(stage, { ...rest, device, arena }));
      return await body(loaded.map(({ plan }) => plan));
    } finally {
      for (const each of loaded) await each.release();
      await arena?.free();
      await block.free();
      this.memory.ownBytes -= sharedBytes;
    }
  }

  /**
   * Returns the loaded stage, which the caller releases.
   *
   * @throws VdError as {@link run}
   */
  async open(stage: StageDefinition, options: StageOptions = {}): Promise<LoadedStage> {
    return (
      (await this.take(stage)) ?? (this.options.keeps ? this.keep(stage, options) : this.loadMakingRoom(stage, options))
    );
  }

  /** Counts bytes of the device's memory that are taken beside stages, or given back where there are fewer than none. */
  hold(bytes: number): void {
    this.memory.ownBytes += bytes;
    this.memory.peakBytes = Math.max(this.memory.peakBytes, this.memory.ownBytes);
  }

  /** Frees the stages that are kept. None of them may run. */
  async free(): Promise<void> {
    const loaded = [...this.kept.values()];
    this.kept.clear();
    for (const each of loaded) await each.release();
  }

  private async keep(stage: StageDefinition, options: StageOptions): Promise<LoadedStage> {
    const key = keyOf(stage);
    const loaded = this.kept.get(key) ?? (await this.loadMakingRoom(stage, options));
    this.kept.set(key, loaded);
    return { plan: loaded.plan, release: async () => {} };
  }

  /** Loads a stage; what was loaded ahead of its use gives way to what is needed now. */
  private async loadMakingRoom(stage: StageDefinition, options: StageOptions): Promise<LoadedStage> {
    try {
      return await this.load(stage, options);
    } catch (error) {
      if (!isOutOfMemory(error) || this.ahead.size + this.left.length === 0) throw error;
      await this.dropAhead();
      await this.options.device.trim();
      return this.load(stage, options);
    }
  }

  /** Returns working memory of `bytes` for stages that are loaded ahead and run one after the other. */
  arenaFor(bytes: number): SharedArena {
    return new SharedArena(this.options.device, bytes, this.memory);
  }

  /** Begins to load a stage that `run` will be called for, on the loader's device. Where that fails, `run` loads it again. */
  loadAhead(stage: StageDefinition, { shared, lane = "", sharedSpace, ...options }: LoadAheadOptions = {}): void {
    const { signal } = this.options;
    const loadIn = (arena: DeviceBuffer) =>
      this.load(stage, { ...options, arena, space: sharedSpace && partOf(arena, sharedSpace.from, sharedSpace.bytes) });
    const load = () => (shared ? shared.use(loadIn) : this.load(stage, options));
    const before = this.lanes.get(lane) ?? Promise.resolve();
    const loading = before.then(() => (this.isClosed || signal?.aborted ? undefined : load()));
    const kept = loading.catch(() => undefined);
    this.ahead.set(keyOf(stage), kept);
    this.lanes.set(lane, kept);
  }

  /** Prepares a stage that `run` will be called for, on the loader's device, as far as that takes none of the device's memory. Where that
   * fails, `run` begins anew. */
  prepareAhead(stage: StageDefinition): void {
    const { device, layouts, signal } = this.options;
    const key = keyOf(stage);
    // Those whose weights stay on the host need room there first.
    if (this.pinned || this.kept.has(key) || this.preparing.has(key)) return;
    const prepare = async () => {
      const layout = await layouts.inSlices(stage, signal);
      return { layout, plan: await prepareStage(device, layout, this.planOptions(stage)) };
    };
    this.preparing.set(
      key,
      prepare().catch(() => undefined),
    );
  }

  /** Frees what was loaded or prepared ahead and not taken, and what is left; nothing more is loaded ahead. */
  async dropAhead(): Promise<void> {
    this.isClosed = true;
    await Promise.all(this.preparing.values());
    this.preparing.clear();
    const ahead = [...this.ahead.values()];
    this.ahead.clear();
    for (const each of ahead) await (await each)?.release();
    await Promise.all([this.freeing, this.freeLeft()]);
  }

  /** True where {@link loadAhead} was called for a stage that was not run since. */
  isAhead(stage: StageDefinition): boolean {
    return this.ahead.has(keyOf(stage));
  }

  private take(stage: StageDefinition): Promise<LoadedStage | undefined> | undefined {
    const loading = this.ahead.get(keyOf(stage));
    this.ahead.delete(keyOf(stage));
    return loading;
  }

  private planOptions({ name }: StageDefinition, options: PlanOptions = {}): PlanOptions {
    const { observer, tuning } = this.options;
    return { ...options, name, observer, tuning };
  }

  /** What {@link prepareAhead} made of a stage that is laid out like this, for the only time. */
  private async takePrepared(stage: StageDefinition, layout: GraphLayout): Promise<PreparedPlan | undefined> {
    const key = keyOf(stage);
    const found = await this.preparing.get(key);
    this.preparing.delete(key);
    return found?.layout === layout ? found.plan : undefined;
  }

  private async load(stage: StageDefinition, { device = this.options.device, ...rest }: StageOptions) {
    const { layouts, files, trims, observer, signal } = this.options;
    // Loading a stage reads its weights from their files: the moment at which a file that was cut off would do harm.
    checkUnchanged(files);
    const layout = await layouts.inSlices(stage, signal);
    const loadOptions = this.planOptions(stage, rest);
    if (this.pinned) {
      const loaded = await this.loadPinned(layout, device, loadOptions, this.pinned);
      if (loaded) return loaded;
    }
    // Weights of the stage before would otherwise stay until memory runs out.
    if (trims) await observed(observer, "trim", () => device.trim());
    // What was prepared is for this device, and for options that all stages have.
    const isPrepared = device === this.options.device && Object.keys(rest).length === 0;
    const prepared = isPrepared ? await this.takePrepared(stage, layout) : undefined;
    return loadStage(device, layout, this.memory, loadOptions, prepared);
  }

  /** Loads a stage whose weights stay in page-locked memory; undefined where there is none of it left. */
  private async loadPinned(layout: GraphLayout, device: Device, options: PlanOptions, pinned: PinnedWeights) {
    await pinned.makeRoom(device, this.options.observer);
    const streamed = { ...options, streamBytes: streamBytesOf(options.streamBytes) };
    try {
      const loaded = await loadStage(device, layout, this.memory, streamed);
      pinned.note(options.name!, loaded.plan.info);
      return loaded;
    } catch (error) {
      if (!isOutOfPinned(error)) throw error;
      await pinned.release(device);
      this.pinned = undefined;
      this.options.onUnpinned?.();
      return undefined;
    }
  }
}
