import { type Device, type DType, VdError } from "@vd/kernels-native";
import type { LoadedPlan } from "@vd/tensor";
import type { Edge, MemorySample, PlanRun, Recording, Span } from "./recording";

/** Writes down scopes, runs and memory as they happen; what they mean is worked out later. */
export class Recorder implements Recording {
  readonly edges: Edge[] = [];
  readonly memory: MemorySample[] = [];
  /** Scopes that have not ended. */
  readonly open = new Set<Span>();
  /** Types of activations by the devices that plans ran on. */
  readonly devices = new Map<Device, Set<DType>>();
  private readonly loaded = new Map<LoadedPlan, number>();
  private packedBytes = 0;

  /** nowUs: a clock that never goes back. */
  constructor(private readonly nowUs: () => number) {}

  /** Opens a scope inside `parent`. */
  start(name: string, parent: Span | undefined): Span {
    const atUs = this.nowUs();
    const span: Span = { name, parent, startUs: atUs, endUs: undefined };
    this.open.add(span);
    this.edges.push({ span, atUs, isStart: true });
    return span;
  }

  /**
   * Ends a scope; `error` is what was thrown out of it.
   *
   * @throws VdError `attr` for one that has ended
   */
  end(span: Span, error?: { thrown: unknown }): void {
    if (span.endUs !== undefined)
      throw new VdError({
        code: "attr",
        where: `profiler] [${span.name}`,
        expected: "a span that is open",
        got: "one that has ended",
        hint: "Call end() once for each span(), or leave it to `using`.",
      });
    const atUs = this.nowUs();
    span.endUs = atUs;
    if (error) span.error = error.thrown instanceof Error ? error.thrown.message : String(error.thrown);
    this.open.delete(span);
    this.edges.push({ span, atUs, isStart: false });
  }

  /** Open scopes somewhere inside `span`, the innermost last. */
  openInside(span: Span): Span[] {
    const isInside = (inner: Span | undefined): boolean =>
      inner !== undefined && (inner === span || isInside(inner.parent));
    return [...this.open].filter((each) => each !== span && isInside(each.parent));
  }

  planRan(span: Span | undefined, run: PlanRun): void {
    if (span) span.run = run;
  }

  planLoaded(plan: LoadedPlan): void {
    this.loaded.set(plan, plan.layout.memory.peakBytes + plan.info.scratchBytes);
    const types = this.devices.get(plan.device) ?? new Set();
    this.devices.set(plan.device, types.add(plan.layout.graph.dtype));
    // The device counts the packed weights of all programs.
    this.packedBytes = plan.info.packedBytes;
    this.sample();
  }

  planFreed(plan: LoadedPlan): void {
    if (!this.loaded.delete(plan)) return;
    // The CPU lets go of packed weights with the last program that uses them; a GPU keeps them until it is trimmed.
    if (this.loaded.size === 0 && plan.device.kind === "cpu") this.packedBytes = 0;
    this.sample();
  }

  private sample(): void {
    const bytes = [...this.loaded.values()].reduce((sum, each) => sum + each, this.packedBytes);
    this.memory.push({ atUs: this.nowUs(), bytes });
  }
}
