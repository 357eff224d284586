import { type BufferCopy, type FloatsRead, throwIfAborted } from "@vd/kernels-native";
import type { DeviceTeam, GraphLayout, Plan, RunOptions } from "@vd/tensor";
import type { DenoisingPlan } from "../denoising/denoise";
import { inputName, NUM_ROWS, predictionName } from "./row-stages";

/** Inputs, and the state that holds the next call's, that have a row for each row of the prediction. */
const ROW_INPUTS: ReadonlySet<string> = new Set(["cross", "addedTimeIds", "input"]);
/** What the unconditional row sees zeros of. */
const CONDITION = "image";

/** Plans of the device of one row. */
export interface RowPlans {
  /** Of `rowStage`. */
  row: Plan;
  /** Of `bothRowsStage`; the first device has it, and where the sampler steps on the device all do. */
  both: Plan | undefined;
}

/** What a call's runs on a device begin with. */
interface StagedCopies {
  row: BufferCopy[];
  both: BufferCopy[];
}

const has = ({ layout: { graph } }: Plan, name: string): boolean => graph.inputs.has(name) || graph.states.has(name);

/**
 * A denoiser on two devices that acts as one plan. Each computes one row of guidance, they exchange predictions, and where the sampler
 * steps on the device both take the same step on the same bits, so that nothing else is exchanged.
 */
export class SplitDenoiser implements DenoisingPlan {
  /** Settles when all that was asked for is queued. */
  private queueing: Promise<unknown> = Promise.resolve();

  /** plans: by row. */
  constructor(
    private readonly team: DeviceTeam,
    private readonly plans: readonly RowPlans[],
  ) {}

  private get steps(): boolean {
    return this.plans[1]!.both !== undefined;
  }

  private async atOnce(
    body: (plans: RowPlans, row: number, signal: AbortSignal) => Promise<unknown>,
    signal?: AbortSignal,
  ) {
    const run = (index: number, stop: AbortSignal) => body(this.plans[index]!, index, stop);
    return this.team.atOnce(({ index }, stop) => run(index, stop), { signal, count: NUM_ROWS });
  }

  async write(name: string, data: ArrayLike<number>): Promise<void> {
    await this.atOnce(async ({ row, both }, index) => {
      if (has(row, name)) await row.write(name, this.ofRow(name, data, index));
      if (both && has(both, name)) await both.write(name, data);
    });
  }

  async stage(name: string, data: ArrayLike<number>): Promise<void> {
    await this.atOnce(async ({ row, both }, index) => {
      if (has(row, name)) await row.stage(name, this.ofRow(name, data, index));
      if (both && has(both, name)) await both.stage(name, data);
    });
  }

  get queuesRuns(): boolean {
    return this.plans.every(({ row }) => row.queuesRuns);
  }

  /** What one row's plan gets of an input. */
  private ofRow(name: string, data: ArrayLike<number>, index: number): ArrayLike<number> {
    if (name === CONDITION && index === 0) return new Float32Array(data.length);
    if (!ROW_INPUTS.has(name)) return data;
    const length = data.length / NUM_ROWS;
    return Float32Array.from({ length }, (_, i) => data[index * length + i]!);
  }

  read(name: string): Promise<Float32Array> {
    return this.plans[0]!.both!.read(name);
  }

  readChecked(name: string): Promise<FloatsRead> {
    return this.plans[0]!.both!.readChecked(name);
  }

  readPlanes(name: string, into?: Float32Array): Promise<FloatsRead> {
    return this.plans[0]!.both!.readPlanes(name, into);
  }

  /** Of what follows on both rows; its states are the same on both devices. */
  get layout(): GraphLayout {
    return this.plans[0]!.both!.layout;
  }

  /** Reads a state as it is stored. */
  readonly readBytes = (name: string): Promise<Uint8Array> => this.plans[0]!.both!.readBytes(name);

  /**
   * Makes a call. Devices wait for each other by themselves: a call may be asked for while the one before is under way.
   *
   * @throws VdError as `Plan.run`, with the device's name
   */
  async run({ signal }: RunOptions): Promise<void> {
    // What is staged from now on is the next call's.
    const staged = this.plans.map(({ row, both }) => ({ row: row.takeStaged(), both: both?.takeStaged() ?? [] }));
    const queued = this.queueing.then(() => this.queue(staged, signal ?? undefined));
    this.queueing = queued.catch(() => undefined);
    try {
      await queued;
      await this.atOnce(({ row, both }) => (both ?? row).wait());
    } catch (error) {
      // What was queued goes on in memory that is freed next, the other device's too.
      await Promise.allSettled(this.plans.flatMap(({ row, both }) => [row.wait(), both?.wait()]));
      throw error;
    }
    throwIfAborted(signal ?? undefined, "run");
  }

  /** Queues both rows, and what follows on both. A row's device lets nobody's copy of its last prediction go unfinished. */
  private async queue(staged: readonly StagedCopies[], signal?: AbortSignal): Promise<void> {
    const rows = this.plans.map(({ row }) => row);
    const boths = this.plans.flatMap(({ both }) => both ?? []);
    await this.atOnce(async ({ row, both }, index, stop) => {
      const input = this.steps ? [row.copyOf("input", both!, inputName(index))] : [];
      await row.queue({ signal: stop, copies: [...staged[index]!.row, ...input], leavesStaged: true, after: boths });
    }, signal);
    await this.atOnce(async ({ both }, index, stop) => {
      if (!both) return;
      const predictions = rows.map((row, i) => both.copyOf(predictionName(i), row, "prediction"));
      const copies = [...staged[index]!.both, ...predictions];
      await both.queue({ signal: stop, copies, leavesStaged: true, after: rows });
    }, signal);
  }

  /** Sets the states from which the next call starts. start: for each row's device a plan of `startStage` that has run. */
  async begin(index: number, start: Plan): Promise<void> {
    const { both } = this.plans[index]!;
    await both!.copyFrom("x", start, "x");
    await both!.copyFrom("input", start, "input");
  }
}
