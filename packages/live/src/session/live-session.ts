import { cancelledError, VdError } from "@vd/kernels-native";
import { runInSlices } from "@vd/tensor";
import { numbersOfLevels } from "../model/picture-levels";
import type { LiveModelInfo } from "../model/types";
import { checkChange, isTold } from "./changes";
import { FeatureCache } from "./feature-cache";
import type { MadeFrame } from "./frame-maker";
import type { FramePlan } from "./frame-plan";
import { FrameQueue, type Slot } from "./frame-queue";
import { guardRows, guardWith } from "./guard";
import { type LiveLook, lookOf } from "./look";
import { definedOnly, preparePrograms, type SessionParts, type SessionSettings } from "./parts";
import { PrecisionController } from "./precision-controller";
import { Repeats } from "./repeats";
import { checkSnapshot, toSnapshot } from "./snapshot";
import { SessionStatistics } from "./statistics";
import { Steering } from "./steering";
import { StepController } from "./step-controller";
import { Ticks } from "./ticks";
import type { LiveFrame, LiveParameters, LivePicture, LiveSession, LiveSnapshot, LiveStats } from "./types";

/** The settings as they are when all of `changes` count, one after the other. */
function withAll(before: SessionSettings, changes: readonly LiveParameters[]): SessionSettings {
  const settings = { ...before };
  for (const { guard, ...others } of changes)
    Object.assign(settings, definedOnly(others), { guard: guardWith(settings.guard, guard) });
  return settings;
}

/** The session behind `createLiveSession`: one loop makes frames and hands them over; whatever else touches the model waits for its turn
 *  between two frames. */
export class RunningSession implements LiveSession {
  private readonly queue: FrameQueue;
  private readonly steering: Steering;
  private readonly controller: StepController;
  private readonly precisions: PrecisionController | undefined;
  private readonly cache: FeatureCache | undefined;
  private readonly ticks: Ticks;
  private readonly statistics = new SessionStatistics();
  private settings: SessionSettings;
  /** Parameters that the next edge takes. */
  private pending: LiveParameters[] = [];
  private look: LiveLook = { mean: [0, 0, 0], deviation: [0, 0, 0], contrast: 0, detail: 0 };
  private last: { frame: LiveFrame; slot: Slot } | undefined;
  /** Of the newest picture, where pictures are compared. */
  private numbers: Float32Array | undefined;
  private turn: Promise<unknown> = Promise.resolve();
  /** The newest call of {@link set}: they count in their order, however long the programs of one take to load. */
  private setting: Promise<unknown> = Promise.resolve();
  private resumed: { promise: Promise<void>; open(): void } | undefined;
  private closing: Promise<void> | undefined;
  private stopWaiting: (() => void) | undefined;
  private readonly onAbort = () => void this.end({ error: cancelledError("live session", this.parts) });

  /** The engine's programs are loaded and its context is set. start: how the start state looks. */
  constructor(
    private readonly parts: SessionParts,
    start: LiveLook,
  ) {
    const { info, size, queueFrames, settings, cache, adaptive, clock, fps, signal } = parts;
    this.queue = new FrameQueue(queueFrames, size.width * size.height * 3);
    this.steering = new Steering(info.actions, size);
    this.controller = new StepController([...info.sigmas.keys()], adaptive);
    this.precisions = adaptive?.precisions && new PrecisionController(adaptive.precisions, adaptive.headroom);
    this.cache = cache && new FeatureCache(cache);
    this.ticks = new Ticks(clock, 1000 / fps);
    this.settings = settings;
    this.holdTo(start);
    signal?.addEventListener("abort", this.onAbort, { once: true });
    void this.run();
  }

  get model(): LiveModelInfo {
    return this.parts.info;
  }

  get width(): number {
    return this.parts.size.width;
  }

  get height(): number {
    return this.parts.size.height;
  }

  get fps(): number {
    return this.parts.fps;
  }

  get paused(): boolean {
    return this.resumed !== undefined;
  }

  get closed(): boolean {
    return this.closing !== undefined;
  }

  [Symbol.asyncIterator](): AsyncIterator<LiveFrame> {
    return {
      next: () => this.queue.take(),
      return: async () => {
        await this.close();
        return { done: true, value: undefined };
      },
    };
  }

  push(picture: LivePicture): void {
    this.requireOpen("push");
    this.steering.push(picture);
  }

  act(action: string | number): void {
    this.requireOpen("act");
    this.steering.act(action);
  }

  async set(parameters: LiveParameters): Promise<void> {
    this.requireOpen("set");
    checkChange(parameters, this.parts);
    const { picture, ...others } = parameters;
    const copy = { ...structuredClone(others), picture };
    const taken = this.setting.then(() => this.take(copy));
    this.setting = taken.catch(() => undefined);
    return taken;
  }

  /** Prepares what parameters need, and has the next edge take them. */
  private async take(parameters: LiveParameters): Promise<void> {
    this.requireOpen("set");
    const { engine } = this.parts;
    await preparePrograms(this.parts, withAll(this.settings, [...this.pending, parameters]));
    const tell = () => engine.tell(parameters);
    if (isTold(parameters)) await (engine.tellsAtOnce ? tell() : this.betweenFrames("set", tell));
    this.pending.push(parameters);
  }

  async pause(): Promise<void> {
    this.requireOpen("pause");
    if (!this.resumed) {
      let open = () => {};
      const promise = new Promise<void>((resolve) => {
        open = resolve;
      });
      this.resumed = { promise, open };
      this.stopWaiting?.();
    }
    await this.exclusively(async () => undefined);
  }

  resume(): void {
    if (!this.resumed) return;
    this.ticks.stop();
    this.statistics.breakOff();
    this.resumed.open();
    this.resumed = undefined;
  }

  async snapshot(): Promise<LiveSnapshot> {
    return this.betweenFrames("snapshot", async () => {
      const { info, engine, size } = this.parts;
      const { steps } = this.settings;
      const snapshot = toSnapshot(info, size, await engine.save(steps), this.steering.action, steps);
      return info.kind === "game" ? { ...snapshot, look: this.look } : snapshot;
    });
  }

  async restore(snapshot: LiveSnapshot): Promise<void> {
    this.requireOpen("restore");
    const { info, size, engine } = this.parts;
    const { state, action, look } = checkSnapshot(snapshot, info, size, engine);
    await this.set({ steps: snapshot.steps });
    await this.betweenFrames("restore", async () => {
      await engine.restore(state, snapshot.steps);
      if (look) this.holdTo(look);
      this.startOver(action);
    });
  }

  async restart(start?: string | readonly LivePicture[]): Promise<void> {
    this.requireOpen("restart");
    const { engine, driftEvery } = this.parts;
    const context = await this.parts.startContext(start);
    const look = await runInSlices(lookOf.inPieces(context, this.parts.size));
    await this.betweenFrames("restart", async () => {
      await engine.setContext(context, driftEvery > 0);
      this.holdTo(look);
      this.startOver(0);
    });
  }

  stats(): LiveStats {
    return this.statistics.report(this.parts.engine.parts);
  }

  close(): Promise<void> {
    return this.end();
  }

  private end(failure?: { error: unknown }): Promise<void> {
    this.closing ??= this.finish(failure);
    return this.closing;
  }

  private async finish(failure?: { error: unknown }): Promise<void> {
    this.parts.signal?.removeEventListener("abort", this.onAbort);
    this.queue.end(failure);
    this.parts.engine.cancel?.();
    this.resumed?.open();
    this.stopWaiting?.();
    // The loop itself may be what ends the session: it is not waited for then.
    await Promise.resolve();
    // A program that is being loaded is freed with the others.
    await this.setting;
    await this.exclusively(() => this.parts.engine.free());
  }

  /** Work that nothing else of the model's may run beside. */
  private exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.turn.then(work);
    this.turn = result.catch(() => undefined);
    return result;
  }

  /** Work on the state of an open session. */
  private async betweenFrames<T>(where: string, work: () => Promise<T>): Promise<T> {
    this.requireOpen(where);
    return this.exclusively(async () => {
      this.requireOpen(where);
      return work();
    });
  }

  private requireOpen(where: string): void {
    if (!this.closed) return;
    const [expected, got] = ["an open session", "one that was closed"];
    throw new VdError({ code: "unsupported", where: `session] [${where}`, expected, got });
  }

  /** What the guard draws frames towards from now on. */
  private holdTo(look: LiveLook): void {
    this.look = look;
    this.applyGuard();
  }

  private applyGuard(): void {
    this.parts.engine.setGuard(this.settings.guard, this.look);
  }

  private startOver(action: number): void {
    this.queue.clear();
    this.cache?.clear();
    this.parts.similarity?.clear();
    this.steering.reset(action);
    if (this.last) this.queue.release(this.last.slot);
    this.last = undefined;
  }

  private async run(): Promise<void> {
    try {
      while (!this.closed) {
        if (await this.isDue()) await this.exclusively(() => this.makeFrame());
      }
    } catch (error) {
      void this.end({ error });
    }
  }

  /** Waits for what a frame needs: no pause, room in the queue, its tick. False if one of them must be looked at again. */
  private async isDue(): Promise<boolean> {
    if (this.resumed) {
      await this.resumed.promise;
      return false;
    }
    if (this.parts.pace === "reader") {
      await this.queue.wanted();
      return !this.closed && !this.paused;
    }
    if (this.queue.isFull) {
      this.statistics.stalls++;
      await this.queue.room();
      this.ticks.stop();
      return false;
    }
    this.keepPace();
    await this.until(this.ticks.due());
    return !this.closed && !this.paused;
  }

  /** Lets the clock go no faster than frames come, if that is the policy. */
  private keepPace(): void {
    const { engine, fps } = this.parts;
    const slowest = this.settings.policy === "slow-down" ? (engine.frameMs ?? 0) : 0;
    this.ticks.stretch(Math.max(1000 / fps, slowest));
  }

  private until(time: number): Promise<void> {
    const { clock } = this.parts;
    if (clock.now() >= time) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = clock.at(time, resolve);
      this.stopWaiting = () => {
        cancel();
        resolve();
      };
    });
  }

  /** Takes what was asked for since the frame before. */
  private takeEdge(): FramePlan {
    const { clock, engine } = this.parts;
    this.settings = withAll(this.settings, this.pending);
    if (this.pending.some(({ guard }) => guard !== undefined)) this.applyGuard();
    // What frames are made with has changed: the one before is none that could stand for the next one.
    if (this.pending.length > 0) this.parts.similarity?.renew();
    this.pending = [];
    const video = this.steering.takeVideo();
    // Asked for the first frame too, whose picture the next ones are compared with.
    const isSame = this.isSimilar(video) && this.last !== undefined;
    if (video && !isSame) engine.pushVideo(video, this.settings.blend);
    const action = this.steering.takeAction();
    const { settings } = this;
    const precision = this.precisions?.next(Math.max(...this.controller.allowed(settings)), settings.deadlineMs);
    const steps = this.controller.next(settings);
    const deep = this.cache ? (video ? "compute" : this.cache.next(steps, action)) : "none";
    return { tick: this.ticks.next, steps, action, deep, precision, settings, edge: clock.now(), isSame };
  }

  /** Whether a picture hardly differs from the last one that a frame was made of. */
  private isSimilar(video: Uint8Array | undefined): boolean {
    const { similarity } = this.parts;
    if (!similarity) return false;
    if (!video) return similarity.isSame(undefined);
    this.numbers ??= new Float32Array(video.length);
    return similarity.isSame(numbersOfLevels(video, this.numbers));
  }

  private async makeFrame(): Promise<void> {
    if (this.closed || this.paused) return;
    const { engine, clock, driftEvery, timeEvery } = this.parts;
    const plan = this.takeEdge();
    if (plan.isSame) return this.showAgain(plan);
    const slot = this.queue.acquire();
    const repeats = this.repeats(plan);
    try {
      const { index } = engine;
      const drift = driftEvery > 0 && index % driftEvery === 0;
      const timing = timeEvery > 0 && index % timeEvery === 0;
      const guard = guardRows(plan.settings.guard);
      const made = await engine.make({ ...plan, guard, drift, timing, into: slot.data });
      this.handOver(plan, made, slot, clock.now(), repeats?.stop() ?? 0);
    } catch (error) {
      repeats?.stop();
      this.queue.release(slot);
      throw error;
    }
  }

  /** Hands the last frame over again in place of one that would hardly differ. */
  private showAgain({ tick }: FramePlan): void {
    const { frame, slot } = this.last!;
    this.queue.put({ ...frame, tick, repeated: true }, slot);
    this.statistics.repeated++;
    if (this.parts.pace === "clock") this.statistics.skipped += this.ticks.advance();
    else this.ticks.next++;
  }

  /** The last frame once more at the deadline and at every tick from then on, if that is the policy. */
  private repeats({ edge, settings }: FramePlan): Repeats | undefined {
    const { pace, clock, fps } = this.parts;
    const { last, queue } = this;
    if (settings.policy !== "repeat" || pace !== "clock" || !last) return undefined;
    return new Repeats(clock, edge + settings.deadlineMs, 1000 / fps, () => {
      if (queue.isFull || this.closed) return false;
      queue.put({ ...last.frame, repeated: true }, last.slot);
      this.statistics.repeated++;
      return true;
    });
  }

  private handOver(plan: FramePlan, made: MadeFrame, slot: Slot, finish: number, repeats: number): void {
    const { action, deep, precision, tick, settings, edge } = plan;
    const steps = made.steps ?? plan.steps;
    const { info, size, pace } = this.parts;
    const latencyMs = finish - edge;
    const late = latencyMs > settings.deadlineMs;
    const cached = deep === "reuse";
    const name = info.actions[action]!;
    const common = { index: made.index, tick, ...size, data: slot.data, action: name, steps };
    const frame: LiveFrame = { ...common, repeated: false, late, cached, latencyMs, drift: made.drift };
    this.queue.put(frame, slot);
    if (this.last) this.queue.release(this.last.slot);
    this.last = { frame, slot };
    this.precisions?.observe(steps, latencyMs);
    this.controller.observe(steps, latencyMs, late, settings, made.change?.frame);
    if (deep !== "none") this.cache?.observe(deep, steps, action, made.change?.features ?? 0);
    const { statistics } = this;
    statistics.addFrame({ steps, precision, latencyMs, finish });
    if (late) statistics.misses++;
    if (cached) statistics.cached++;
    if (made.drift) statistics.drift = made.drift;
    if (pace === "clock") statistics.skipped += Math.max(0, this.ticks.advance() - repeats);
    else this.ticks.next++;
  }
}
