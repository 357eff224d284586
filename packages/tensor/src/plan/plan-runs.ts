import { cancelledError, isVdError, type Program, type RunTimes, throwIfAborted } from "@vd/kernels-native";
import type { Placement } from "./placement";
import type { QueueOptions, RunOptions } from "./plan-options";
import type { Staging } from "./staging";

/** The runs of a loaded plan. */
export class PlanRuns {
  /** Those that have begun and not ended. */
  private underWay = 0;

  constructor(
    private readonly program: Program,
    private readonly placement: Placement,
    private readonly staging: Staging,
  ) {}

  get areOver(): boolean {
    return this.underWay === 0;
  }

  /** Runs all rows. @throws VdError `cancelled` if the signal fires */
  async run(options: RunOptions): Promise<RunTimes> {
    const { signal, timing = false } = options;
    throwIfAborted(signal, "run");
    const copies = this.copiesOf(options);
    const times = await this.stoppable(signal, () => this.program.run({ timing, copies }));
    this.placement.copyOut();
    throwIfAborted(signal, "run");
    return times;
  }

  /** Does what {@link run} does behind the last runs of `after`, without waiting for its end. */
  async queue(options: Omit<QueueOptions, "after">, after: readonly Program[]): Promise<void> {
    const copies = this.copiesOf(options);
    await this.stoppable(options.signal, () => this.program.queue({ copies, after }));
  }

  /** Waits for the run that was queued last. @throws VdError what it failed with on the device */
  async wait(): Promise<void> {
    await this.program.wait();
    this.placement.copyOut();
  }

  /** What a run begins with. */
  private copiesOf({ leavesStaged, copies = [] }: Pick<RunOptions, "leavesStaged" | "copies">) {
    return [...(leavesStaged ? [] : this.staging.take()), ...copies];
  }

  /** Calls `run`, which stops before its next row when the signal fires. */
  private async stoppable<T>(signal: AbortSignal | undefined, run: () => Promise<T>): Promise<T> {
    throwIfAborted(signal, "run");
    const cancel = () => this.program.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    this.underWay++;
    try {
      this.placement.copyIn();
      return await run();
    } catch (error) {
      // The device knows that it was stopped, the signal knows why.
      throw signal?.aborted && isVdError(error) && error.code === "cancelled"
        ? cancelledError("run", { signal })
        : error;
    } finally {
      this.underWay--;
      signal?.removeEventListener("abort", cancel);
    }
  }
}
