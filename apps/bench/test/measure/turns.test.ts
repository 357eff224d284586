import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Contender } from "../../src/measure/contenders";
import { takeTurns } from "../../src/measure/turns";

function contender(name: string, ms: number, log: string[]): Contender {
  return {
    ...{ name, facts: {} },
    run: async (repeats) => {
      log.push(name);
      await setTimeout(ms);
      return Array.from({ length: repeats }, () => ms * 1000);
    },
    close: async () => void log.push(`${name} closed`),
  };
}

const turns = {
  suite: "ops",
  name: "a",
  rounds: 4,
  repeats: 2,
  signal: new AbortController().signal,
  onTurn: () => {},
};

it("a contender that has taken its time takes no further turn, the others do", async () => {
  const log: string[] = [];
  const rows = await takeTurns([contender("slow", 60, log), contender("fast", 1, log)], { ...turns, limitMs: 50 });
  expect(log).toEqual(["slow", "fast", "fast", "fast", "fast", "slow closed", "fast closed"]);
  expect(rows.map(({ samplesUs }) => samplesUs!.length)).toEqual([2, 8]);
});

it("without a limit all take all turns, one after the other", async () => {
  const log: string[] = [];
  await takeTurns([contender("a", 1, log), contender("b", 1, log)], { ...turns, rounds: 2 });
  expect(log).toEqual(["a", "b", "a", "b", "a closed", "b closed"]);
});
