// Runs in a process of its own, so that a crash of the addon is a failure of one test. Prints what it did as JSON.
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { OpCases } from "../../contract/define-case";
import type { OpId } from "../../contract/index";
import { loadAddon } from "../../src/load";
import { fuzzCalls } from "./calls";
import { encodeCase, isSmall } from "./encode-case";
import { closeJournal, openJournal } from "./journal";
import { freeWhileRunning, stopWorkers } from "./lifecycle";
import { overwriteOffsets } from "./offsets";
import type { Tally } from "./outcome";
import { Pool } from "./pool";
import { type Encoder, fuzzPrograms } from "./programs";

const [journal, numCalls, numPrograms, seed] = process.argv.slice(2) as [string, string, string, string];

async function loadCases(): Promise<Encoder[]> {
  const folder = new URL("../../ops/", import.meta.url);
  const ids = readdirSync(folder).filter((name) => !name.includes(".")) as OpId[];
  const all: Encoder[] = [];
  for (const id of ids) {
    const module = await import(fileURLToPath(new URL(`${id}/${id}.cases.ts`, folder)));
    const { correctness } = (module.default.default ?? module.default) as OpCases;
    all.push(...correctness.map((each) => (firstBlock: number) => encodeCase(id, each, firstBlock)));
  }
  return all.filter((encode) => isSmall(encode(0)));
}

openJournal(journal);
const addon = loadAddon();
const cases = await loadCases();
const valid = cases.map((encode) => encode(0)).find(({ name }) => name === "linear: odd")!;
const pool = await Pool.make(addon, fileURLToPath(import.meta.url), valid);
const tallies = { calls: new Map(), programs: new Map(), offsets: new Map(), lifecycle: new Map() } satisfies Record<
  string,
  Tally
>;
await fuzzCalls(pool, tallies.calls, Number(numCalls), Number(seed));
const { compiled, ran } = await fuzzPrograms(addon, cases, tallies.programs, Number(numPrograms), Number(seed));
const overwritten = await overwriteOffsets(addon, tallies.offsets);
await freeWhileRunning(addon, valid, tallies.lifecycle, 6);
const stopped = await stopWorkers(valid, 8);
closeJournal();
const endings = Object.fromEntries(Object.entries(tallies).map(([name, tally]) => [name, Object.fromEntries(tally)]));
console.log(JSON.stringify({ cases: cases.length, compiled, ran, overwritten, stopped, endings }));
