import { AsyncLocalStorage } from "node:async_hooks";
import {
  cupti,
  FLAG,
  FUNCTION,
  type KernelSum,
  nvtx,
  OBJECT,
  optional,
  type RunTimes,
  requireFields,
  VdError,
} from "@vd/kernels-native";
import type { LoadedPlan, WorkObserver } from "@vd/tensor";
import { type Ceilings, measureCeilings } from "./ceilings";
import { Recorder } from "./record/recorder";
import type { Recording, Span } from "./record/recording";
import { buildReport } from "./report/build";
import { buildTimeline, type Timeline } from "./report/timeline";
import type { ProfileReport } from "./report/types";
import { type ReportFormat, renderReport, writeReport } from "./report/write";

/** How to profile. */
export interface ProfilerOptions {
  /** What the device can do at most. Default: unknown until {@link Profiler.measureCeilings}. */
  ceilings?: Ceilings | undefined;
  /** A clock in µs that never goes back; for tests. */
  nowUs?: (() => number) | undefined;
  /** Tell a listening NVIDIA tool of every scope; default true. Costs nothing where none listens. */
  nvtx?: boolean | undefined;
  /** Also time single kernels by CUPTI, where the machine has it; default false, as recording slows launches a little.
   *  CUPTI counts for the whole process: use one such profiler at a time. */
  kernels?: boolean | undefined;
}

const OPTIONS = {
  ...{ ceilings: optional(OBJECT), nowUs: optional(FUNCTION), nvtx: optional(FLAG), kernels: optional(FLAG) },
};

/** A scope that ends when it is disposed of: `using s = profiler.span("name")`. */
export interface ProfilerSpan {
  readonly name: string;
  /**
   * Ends the span.
   *
   * @throws VdError `attr` when it has ended, or while a span that was opened in it is open
   */
  end(): void;
  /** Ends the span if it has not ended. */
  [Symbol.dispose](): void;
}

/**
 * Makes a profiler: hand it to a pipeline as `profiler`, open scopes of your own around it, then ask for the report.
 *
 * @example
 * ```ts
 * import { createProfiler } from "@vd/profiler";
 *
 * const profiler = createProfiler();
 * await profiler.scope("work", async () => {
 *   using part = profiler.span("part");
 *   await new Promise((resolve) => setTimeout(resolve, 10));
 * });
 * console.log(profiler.report().scopes[0]!.totalUs);
 * await profiler.write("profile.html"); // or .json, .trace, .txt
 * ```
 */
export function createProfiler(options: ProfilerOptions = {}): Profiler {
  return new Profiler(options);
}

/** Records nested scopes, the runs of plans and their memory. Nesting follows asynchronous calls. */
export class Profiler implements WorkObserver {
  private readonly current = new AsyncLocalStorage<Span | undefined>();
  private readonly recorder: Recorder;
  private readonly nvtxIds = new Map<Span, bigint>();
  /** Spans without a function: leaving a scope while one of them is open is a mistake. */
  private readonly loose = new WeakSet<Span>();
  private readonly tellsNvtx: boolean;
  private ceilings: Ceilings | undefined;
  /** Times of kernels so far, by name; undefined if they are not recorded. */
  private readonly kernels: Map<string, KernelSum> | undefined;
  private readonly notes: string[] = [];

  /** Use {@link createProfiler}. */
  constructor(options: ProfilerOptions) {
    requireFields("profiler", options, OPTIONS);
    const { ceilings, nowUs, nvtx: tells = true, kernels = false } = options;
    const beganMs = performance.now();
    this.recorder = new Recorder(nowUs ?? (() => (performance.now() - beganMs) * 1000));
    this.ceilings = ceilings;
    this.tellsNvtx = tells && nvtx.listens();
    if (!kernels) return;
    const reason = cupti.start();
    if (reason === "") this.kernels = new Map();
    else this.notes.push(`Single kernels were not timed: ${reason}`);
  }

  /**
   * Runs `body` as the scope `name` and returns what it returns; the scope of an asynchronous body lasts until its
   * promise settles. A body that throws is recorded and marked.
   *
   * @throws what `body` throws, and VdError `attr` if `body` leaves a span open
   */
  scope<T>(name: string, body: () => T): T {
    const span = this.start(name);
    let result: T;
    try {
      result = this.current.run(span, body);
    } catch (error) {
      this.fail(span, error);
      throw error;
    }
    if (!isPromise(result)) {
      this.leave(span);
      return result;
    }
    return result.then(
      (value) => {
        this.leave(span);
        return value;
      },
      (error) => {
        this.fail(span, error);
        throw error;
      },
    ) as T;
  }

  /** Opens a scope that lasts until it is disposed of. Functions that are started together and not awaited one by one
   *  would nest in each other's spans: give each a {@link scope}. */
  span(name: string): ProfilerSpan {
    const span = this.start(name);
    this.loose.add(span);
    this.current.enterWith(span);
    const end = () => {
      if (span.endUs === undefined) {
        if (this.current.getStore() === span) this.current.enterWith(span.parent);
        this.leave(span);
      } else this.recorder.end(span);
    };
    return {
      name,
      end,
      [Symbol.dispose]: () => {
        if (span.endUs === undefined) end();
      },
    };
  }

  planLoaded(plan: LoadedPlan): void {
    this.recorder.planLoaded(plan);
  }

  planRan(plan: LoadedPlan, times: RunTimes): void {
    this.recorder.planRan(this.innermost(), { plan, times });
  }

  planFreed(plan: LoadedPlan): void {
    this.recorder.planFreed(plan);
  }

  /**
   * Measures how fast the device that was used, the GPU if there were several, can move bytes and multiply at most: the
   * roofline. Takes a fraction of a second; do it when the work is done. Ceilings that were given stay.
   *
   * @throws what the device throws
   */
  async measureCeilings(): Promise<void> {
    if (this.ceilings) return;
    const used = [...this.recorder.devices];
    const [device, dtypes] = used.find(([{ kind }]) => kind === "cuda") ?? used[0] ?? [];
    if (device && dtypes) this.ceilings = await measureCeilings(device, [...dtypes]);
  }

  /**
   * What was recorded so far, added up.
   *
   * @throws VdError `attr` while a scope is open
   */
  report(): ProfileReport {
    const recording = this.finished();
    this.takeKernels();
    return buildReport(recording, { ceilings: this.ceilings, kernels: this.kernels?.values(), notes: this.notes });
  }

  /**
   * What was recorded so far, in the order of time.
   *
   * @throws VdError `attr` while a scope is open
   */
  timeline(): Timeline {
    return buildTimeline(this.finished());
  }

  /**
   * The report as a text.
   *
   * @throws VdError `attr` while a scope is open
   */
  async render(format: ReportFormat): Promise<string> {
    return renderReport(format, this.report(), this.timeline());
  }

  /**
   * Writes the report: .html, .json (see schema/report.schema.json), .trace (Chrome's and Perfetto's trace events) or
   * .txt, whole or not at all.
   *
   * @throws VdError `attr` for another ending, `io` if it cannot be written
   */
  async write(path: string): Promise<void> {
    await writeReport(path, (format) => this.render(format));
  }

  /** Ends the recording of kernels, if they are recorded; what was recorded stays in the report. */
  stopKernels(): void {
    if (!this.kernels) return;
    cupti.stop();
    this.takeKernels();
  }

  private takeKernels(): void {
    if (!this.kernels) return;
    for (const { name, count, totalUs } of cupti.take()) {
      const known = this.kernels.get(name) ?? { name, count: 0, totalUs: 0 };
      this.kernels.set(name, { name, count: known.count + count, totalUs: known.totalUs + totalUs });
    }
  }

  private innermost(): Span | undefined {
    let span = this.current.getStore();
    while (span && span.endUs !== undefined) span = span.parent;
    return span;
  }

  private start(name: string): Span {
    if (typeof name !== "string" || name === "")
      throw new VdError({
        code: "attr",
        where: "profiler",
        expected: "a name of the scope",
        got: JSON.stringify(name) ?? "none",
      });
    const span = this.recorder.start(name, this.innermost());
    if (this.tellsNvtx) this.nvtxIds.set(span, nvtx.start(name));
    return span;
  }

  private end(span: Span, error?: { thrown: unknown }): void {
    this.recorder.end(span, error);
    const id = this.nvtxIds.get(span);
    if (id === undefined) return;
    this.nvtxIds.delete(span);
    nvtx.end(id);
  }

  /** Ends a scope that was left by an error, and what it left open. */
  private fail(span: Span, thrown: unknown): void {
    for (const inner of this.looseInside(span)) this.end(inner, { thrown });
    this.end(span, { thrown });
  }

  /** Ends a scope that was left as planned: nothing that it opened by hand may still be open. */
  private leave(span: Span): void {
    const forgotten = this.looseInside(span);
    for (const inner of forgotten) this.end(inner, { thrown: "was not ended" });
    this.end(span);
    if (forgotten.length > 0) throw unmatched(`profiler] [${span.name}`, forgotten);
  }

  /** The innermost first. */
  private looseInside(span: Span): Span[] {
    if (this.recorder.open.size === 1) return [];
    return this.recorder
      .openInside(span)
      .filter((inner) => this.loose.has(inner))
      .reverse();
  }

  private finished(): Recording {
    if (this.recorder.open.size > 0) throw unmatched("profiler", [...this.recorder.open]);
    return this.recorder;
  }
}

function isPromise<T>(value: T): value is T & Promise<Awaited<T>> {
  return typeof (value as { then?: unknown } | undefined)?.then === "function";
}

function unmatched(where: string, open: readonly Span[]): VdError {
  const names = open.map(({ name }) => `"${name}"`).join(", ");
  return new VdError({
    code: "attr",
    where,
    expected: "every span to have ended",
    got: `${names} still open`,
    hint: "Write `using s = profiler.span(…)` or await profiler.scope(…), so that it ends on every path.",
  });
}
