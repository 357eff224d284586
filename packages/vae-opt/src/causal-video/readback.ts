import { countOf, type Device, type DeviceBuffer, type FloatsRead } from "@vd/kernels-native";
import { type Plan, packedBytes } from "@vd/tensor";
import type { Clip } from "./clip";

/** What has run, with its result on the way to the host. In an object: a promise of a promise would wait for both. */
export interface OnTheWay<T> {
  result: Promise<T>;
}

/** Runs a piece, and resolves once the next one may run. */
export type PieceRun = (signal: AbortSignal | undefined) => Promise<OnTheWay<Clip>>;

/** How pieces run one after the other. */
export interface RunsOptions {
  /** Whether a piece runs while the result before it is read, instead of after that. */
  overlaps: boolean;
  signal: AbortSignal | undefined;
  /** Throws where nothing more may be handed out. */
  checkGoesOn(): void;
}

const ignored = () => undefined;

/** Resolves once nothing of a run is under way. */
const endOf = (run: ReturnType<PieceRun> | undefined): Promise<unknown> =>
  Promise.resolve(run?.then(({ result }) => result)).catch(ignored);

/** Yields the results of pieces in their order. A loop that is left early stops the piece under way, and waits until it has stopped. */
export async function* resultsOf(
  runs: Iterable<PieceRun>,
  { overlaps, signal, checkGoesOn }: RunsOptions,
): AsyncGenerator<Clip, void, void> {
  if (!overlaps) {
    for (const run of runs) yield await (await run(signal)).result;
    return;
  }
  const left = new AbortController();
  const either = AbortSignal.any(signal ? [signal, left.signal] : [left.signal]);
  let underWay: ReturnType<PieceRun> | undefined;
  try {
    for (const run of runs) {
      const before = await underWay;
      underWay = run(either);
      void endOf(underWay); // It may fail before somebody waits for it.
      if (!before) continue;
      yield await before.result;
      checkGoesOn();
    }
    if (underWay) yield await (await underWay).result;
  } finally {
    left.abort();
    await endOf(underWay);
  }
}

/** A block on the device from which plans' results are read while the plans run again. */
export class Readback {
  private block: DeviceBuffer | undefined;
  private underWay: Promise<unknown> = Promise.resolve();

  /** bytes: of the largest result. */
  constructor(
    private readonly device: Device,
    private readonly bytes: number,
  ) {}

  /** Bytes of the block, once there is one. */
  get bytesTaken(): number {
    return this.block ? this.bytes : 0;
  }

  /**
   * Begins to read packed output `name`, and resolves once the plan may run again. into: where its numbers go; default: a new array.
   *
   * @throws VdError `memory`
   */
  async begin(plan: Plan, name: string, into?: Float32Array): Promise<OnTheWay<FloatsRead>> {
    const { dims, dtype } = plan.layout.graph.outputs.get(name)!;
    await this.underWay;
    this.block ??= await this.device.allocate(this.bytes);
    await plan.copyOut(name, this.block, { from: 0, to: 0, bytes: packedBytes(dims, dtype) });
    const channels = dims[dims.length - 1]!;
    const result = this.block.readCheckedFloats({ dtype, pixels: countOf(dims) / channels, channels }, into);
    this.underWay = result.catch(ignored); // Whoever waits for the result hears of the error.
    return { result };
  }

  /** Frees the block, once nothing is read from it. */
  async free(): Promise<void> {
    await this.underWay;
    const { block } = this;
    this.block = undefined;
    await block?.free();
  }
}
