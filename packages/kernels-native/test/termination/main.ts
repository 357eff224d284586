// Stops workers inside calls of the addon, in a process of its own: a crash is its end. Prints a tally as JSON.
// Arguments: journal file, number of workers, how many are under way at a time.
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import linear from "../../ops/linear/linear.cases";
import { addonPath } from "../../src/load";
import { encodeCase } from "../addon-fuzz/encode-case";
import { closeJournal, note, openJournal } from "../addon-fuzz/journal";
import { WORKER_KINDS, WORKER_SOURCE } from "./calls";

const [journal, numWorkers, numAtOnce] = process.argv.slice(2) as [string, string, string];

/** Waits between a worker's first call and its end, in ms; undefined ends it while it is still starting. */
const DELAYS_MS = [undefined, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

const { words, blocks } = encodeCase("linear", linear.correctness.find(({ name }) => name === "odd")!);
const common = { addonPath: addonPath(), file: fileURLToPath(import.meta.url), words, blocks };
const underWay = new Map<number, string>();
const stopped: Record<string, number> = {};

/** Starts worker `i` and stops it; what it throws itself is an error of this program. */
async function stopOne(i: number): Promise<void> {
  const kind = WORKER_KINDS[i % WORKER_KINDS.length]!;
  const delayMs = DELAYS_MS[Math.floor(i / WORKER_KINDS.length) % DELAYS_MS.length];
  underWay.set(i, `${kind.name}, ${delayMs ?? "starting"}`);
  note("stopping workers", [...underWay.values()]);
  const worker = new Worker(WORKER_SOURCE, { eval: true, workerData: { ...common, kind } });
  const failed = once(worker, "error").then(([error]) => Promise.reject(error));
  failed.catch(() => undefined);
  if (delayMs === undefined) await Promise.race([once(worker, "online"), failed]);
  else {
    await Promise.race([once(worker, "message"), failed]);
    await Promise.race([setTimeout(delayMs), failed]);
  }
  await worker.terminate();
  stopped[kind.name] = (stopped[kind.name] ?? 0) + 1;
  underWay.delete(i);
}

let next = 0;
async function stopNext(): Promise<void> {
  while (next < Number(numWorkers)) await stopOne(next++);
}

openJournal(journal);
await Promise.all(Array.from({ length: Number(numAtOnce) }, stopNext));
closeJournal();
console.log(JSON.stringify(stopped));
