import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Addon } from "../../src/addon-types";
import { addonPath } from "../../src/load";
import type { EncodedCase } from "./encode-case";
import { note } from "./journal";
import { outcome, type Tally } from "./outcome";

/** Plain JavaScript, so that a worker starts in a moment. */
const WORKER = `
const { parentPort, workerData } = require("node:worker_threads");
const addon = require(workerData.addonPath);
const device = addon.openDevice({ threads: 2, isa: "best", math: "exact", reference: workerData.reference });
const buffers = workerData.blocks.map(({ bytes, constant }) => ({ buffer: addon.allocateBuffer(bytes), constant }));
const values = new Float32Array(new SharedArrayBuffer(1 << 22));
const copy = addon.allocateBuffer(1 << 22);
const draw = (state) =>
  addon.fillNormals(state, values, 1, 0, undefined, "best").then((after) => copy.write(values, 0).then(() => draw(after)));
draw(new Uint32Array(625));
device.compile(Float64Array.from(workerData.words), { text: "", count: 0 }, buffers).then((program) => {
  const again = () => program.run(false).then(again);
  again();
  parentPort.postMessage("running");
});
`;

/** The rows of `program` so often that a run takes a while. */
const repeated = ({ words }: EncodedCase, times: number) => Array.from({ length: times }, () => words).flat();

/** Stops workers while they compile, run, draw random numbers and copy shared memory. */
export async function stopWorkers(program: EncodedCase, count: number): Promise<number> {
  let stopped = 0;
  for (let i = 0; i < count; i++) {
    note("stopping a worker", { i, program: program.name });
    const words = repeated(program, 1 + 4000 * (i % 2));
    const workerData = { addonPath: addonPath(), reference: i % 3 === 0, blocks: program.blocks, words };
    const worker = new Worker(WORKER, { eval: true, workerData });
    if (i % 4 !== 3) await once(worker, "message");
    await worker.terminate();
    stopped++;
  }
  return stopped;
}

/** Frees everything while a long run goes on, and lets the collector take the rest. */
export async function freeWhileRunning(addon: Addon, program: EncodedCase, tally: Tally, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    note("freeing while running", { i, program: program.name });
    const device = addon.openDevice({ threads: 2, isa: "best", math: "exact", reference: i % 2 === 0 });
    const buffers = program.blocks.map(({ bytes, constant }) => ({ buffer: addon.allocateBuffer(bytes), constant }));
    const handle = await device.compile(Float64Array.from(repeated(program, 500)), { text: "", count: 0 }, buffers);
    const running = outcome(tally, () => handle.run(true));
    for (const { buffer } of buffers) buffer.freeSync();
    handle.freeSync();
    globalThis.gc?.();
    await outcome(tally, () => handle.cancel());
    await running;
  }
}
