import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { VideoFiles } from "../src/files/video-files";
import { LocalQueue } from "../src/queue/local-queue";
import { hasEnded, type VideoRecord } from "../src/videos/record";
import { makeVideoId } from "../src/videos/video-id";
import type { WorkOrder } from "../src/workers/messages";
import { makeWorkers } from "../src/workers/models";
import { WorkerProcess } from "../src/workers/worker-process";
import { openTable, temporaryFolder } from "./support/harness";

/** A worker that says which GPU it sees, and dies as often as the seed of a video says before it makes it. */
const PROGRAM = `
  import { appendFileSync, readFileSync } from "node:fs";
  process.on("disconnect", () => process.exit());
  process.on("message", ({ type, call, order }) => {
    if (type === "describe") return process.send({ type: "answer", call, value: process.env.CUDA_VISIBLE_DEVICES });
    const count = order.output + "/count";
    appendFileSync(count, "x");
    if (readFileSync(count, "utf8").length <= Number(order.settings.seed))
      return process.stderr.write("at /home/me/model\\n", () => process.exit(3));
    process.send({ type: "done", result: { files: [] } });
  });`;

const { folder, remove } = temporaryFolder();
const path = join(folder, "worker.mjs");
beforeAll(() => writeFile(path, PROGRAM));
afterAll(remove);

const place = (id: string) => ({ id, source: "", device: "cpu" as const });

/** Makes a video by a worker that dies so often before; returns it as it is at its end. */
async function madeAfter(numDeaths: number, worker: WorkerProcess): Promise<VideoRecord> {
  const data = temporaryFolder();
  const begin = async (id: string) => {
    await mkdir(join(data.folder, id), { recursive: true });
    return { picture: "", output: join(data.folder, id), steps: "" };
  };
  const files = { begin, commit: async (_: string, __: string, result: object) => result };
  const rest = { discard: async () => {}, tidy: async () => {} };
  const queue = await LocalQueue.open({
    ...{ table: openTable(data.folder), files: { ...files, ...rest } as unknown as VideoFiles, workers: [worker] },
    ...{ modelOf: place, onEnd: () => {} },
  });
  const picture = { width: 8, height: 8, mediaType: "image/png", crop: { left: 0, top: 0, width: 8, height: 8 } };
  const ended = new Promise<VideoRecord>((resolve) => {
    queue.events.subscribe((event) => event.type === "status" && hasEnded(event.video) && resolve(event.video));
  });
  await queue.add(
    {
      ...{
        id: makeVideoId(),
        owner: "a",
        createdAt: Date.now(),
        model: "m",
        prompt: null,
        priority: "normal",
        picture,
      },
      ...{ previewEvery: 0, profile: false, webhook: null, metadata: {}, source: null },
      settings: { width: 8, height: 8, numFrames: 1, fps: 7, seed: String(numDeaths) },
    },
    10,
  );
  const video = await ended;
  await queue.drain(0);
  data.remove();
  return video;
}

it("how a worker process ended is for clients; its last words, with paths of this machine, are for the log", async () => {
  const logs: string[] = [];
  const worker = new WorkerProcess({ path, log: (text) => logs.push(text) });
  const order = { output: folder, settings: { seed: "1" } } as unknown as WorkOrder;
  const outcome = await worker.make(order, () => {});
  expect(outcome).toEqual({ type: "crashed", message: "The worker process ended with status 3." });
  expect(logs).toEqual(["The worker process ended with status 3.\nat /home/me/model\n"]);
});

it("a video whose worker dies is tried again, and given up after the third time", async () => {
  expect(await madeAfter(2, new WorkerProcess({ path }))).toMatchObject({
    status: "completed",
    attempts: 3,
    crashes: 2,
  });
  const error = { code: "crashed", message: "The worker process ended with status 3." };
  expect(await madeAfter(3, new WorkerProcess({ path }))).toMatchObject({ status: "failed", attempts: 3, error });
});

it("each GPU has as many workers as are asked for, and each worker sees one GPU", async () => {
  const workers = makeWorkers({ workers: 2, gpus: "0,3" }, { path });
  const seen = await Promise.all(workers.map((worker) => worker.describe(place("m"))));
  expect([...seen].map(String).sort()).toEqual(["0", "0", "3", "3"]);
  await Promise.all(workers.map((worker) => worker.stop()));
});
