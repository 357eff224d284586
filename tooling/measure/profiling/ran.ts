import { Program, type RunTimes } from "@vd/kernels-native";

/** What the program with the most runs did: the denoiser's, in a generation of many steps. */
export interface Ran {
  /** Runs that replayed a captured graph, that launched rows one by one, and that also timed each row. */
  numReplayed: number;
  numLaunched: number;
  numTimed: number;
  numRows: number;
  /** Kernels of one run; 0 where nothing is launched, as on the CPU. */
  numLaunches: number;
}

/** Kernels of one run of a program, as its plan says. */
export const launchesOf = (program: Program): number => program.info.launches.reduce((sum, count) => sum + count, 0);

/** Lets `around` stand around every run of every program while `body` runs; it calls `run` and returns what that does.
 *  Throws what either throws. */
export async function watchRuns(
  around: (program: Program, run: () => Promise<RunTimes>) => Promise<RunTimes>,
  body: () => Promise<unknown>,
): Promise<void> {
  const { run } = Program.prototype;
  Program.prototype.run = function (this: Program, options) {
    return around(this, () => run.call(this, options));
  };
  try {
    await body();
  } finally {
    Program.prototype.run = run;
  }
}

/** Notes how programs run while `body` does: as graphs or row by row, timed or not. The notes come from what each run
 *  answers, not from what was asked for. Throws what `body` throws, and Error if nothing ran. */
export async function noteRuns(body: () => Promise<unknown>): Promise<Ran> {
  const runs = new Map<Program, { numRows: number; numLaunches: number; times: RunTimes[] }>();
  await watchRuns(async (program, run) => {
    const times = await run();
    const known = runs.get(program) ?? {
      ...{ numRows: program.info.fast.length, numLaunches: launchesOf(program), times: [] },
    };
    known.times.push(times);
    runs.set(program, known);
    return times;
  }, body);
  const [most] = [...runs.values()].sort((a, b) => b.times.length - a.times.length);
  if (!most) throw new Error("nothing ran");
  const { numRows, numLaunches, times } = most;
  return {
    numReplayed: times.filter(({ replayed }) => replayed).length,
    numLaunched: times.filter(({ replayed }) => !replayed).length,
    numTimed: times.filter(({ rowUs }) => rowUs.length > 0).length,
    ...{ numRows, numLaunches },
  };
}
