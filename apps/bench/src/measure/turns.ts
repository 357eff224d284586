import { summarize } from "../stats/summary";
import { type Contender, reasonOf } from "./contenders";
import type { BenchRow } from "./report";

/** How contenders take turns. */
export interface TurnOptions {
  suite: string;
  name: string;
  rounds: number;
  repeats: number;
  /** A contender that has taken this long takes no further turn. Default: none. */
  limitMs?: number | undefined;
  signal: AbortSignal;
  onTurn(done: number, total: number): void;
}

/**
 * Lets contenders run in turns, so that whatever else the machine does meets all of them, and closes them. A contender
 * that fails on the way gets its reason.
 *
 * @throws the signal's reason
 */
export async function takeTurns(contenders: readonly Contender[], options: TurnOptions): Promise<BenchRow[]> {
  const { suite, name, rounds, repeats, limitMs = Number.POSITIVE_INFINITY, signal } = options;
  const spentMs = contenders.map(() => 0);
  const samples = contenders.map(() => [] as number[]);
  const reasons: (string | undefined)[] = contenders.map(() => undefined);
  try {
    for (let round = 0; round < rounds; round++)
      for (const [i, contender] of contenders.entries()) {
        signal.throwIfAborted();
        if (reasons[i] === undefined && spentMs[i]! < limitMs) {
          const startMs = performance.now();
          await turn(contender, samples[i]!, repeats).catch((error) => fail(i, error));
          spentMs[i]! += performance.now() - startMs;
        }
        options.onTurn(round * contenders.length + i + 1, rounds * contenders.length);
      }
  } finally {
    for (const contender of contenders) await contender.close();
  }
  return contenders.map(({ name: contender, facts }, i) => ({
    ...{ suite, name, contender, ...facts },
    ...(samples[i]!.length > 0 ? summarize(samples[i]!) : {}),
    ...(reasons[i] === undefined ? {} : { reason: reasons[i] }),
  }));

  function fail(i: number, error: unknown): void {
    if (signal.aborted) throw signal.reason;
    reasons[i] = reasonOf(error);
  }
}

async function turn(contender: Contender, samples: number[], repeats: number): Promise<void> {
  samples.push(...(await contender.run(repeats)));
}
