import type { FloatsRead } from "@vd/kernels-native";
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

const has = ({ layout: { graph } }: Plan, name: string): boolean => graph.inputs.has(name) || graph.states.has(name);

/**
 * A denoiser on two devices that acts as one plan. Each computes one row of guidance, they exchange predictions, and where the sampler
 * steps on the device both take the same step on the same bits, so that nothing else is exchanged.
 */
export class SplitDenoiser implements DenoisingPlan {
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

  /** A call is several runs, between which devices wait for each other. */
  readonly queuesRuns = false;

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

  /** Of what follows on both rows; its states are the same on both devices. */
  get layout(): GraphLayout {
    return this.plans[0]!.both!.layout;
  }

  /** Reads a state as it is stored. */
  readonly readBytes = (name: string): Promise<Uint8Array> => this.plans[0]!.both!.readBytes(name);

  async run({ signal }: RunOptions): Promise<void> {
    // What is staged from now on is the next call's.
    const staged = this.plans.map(({ both }) => both?.takeStaged() ?? []);
    await this.atOnce(async ({ row, both }, index, stop) => {
      const copies = this.steps ? [row.copyOf("input", both!, inputName(index))] : [];
      await row.run({ signal: stop, copies });
    }, signal ?? undefined);
    await this.atOnce(async ({ both }, index, stop) => {
      if (!both) return;
      const predictions = this.plans.map(({ row }, i) => both.copyOf(predictionName(i), row, "prediction"));
      await both.run({ signal: stop, copies: [...staged[index]!, ...predictions], leavesStaged: true });
    }, signal ?? undefined);
  }

  /** Sets the states from which the next call starts. start: for each row's device a plan of `startStage` that has run. */
  async begin(index: number, start: Plan): Promise<void> {
    const { both } = this.plans[index]!;
    await both!.copyFrom("x", start, "x");
    await both!.copyFrom("input", start, "input");
  }
}
