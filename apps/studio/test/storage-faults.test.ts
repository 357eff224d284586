import { expect, it } from "vitest";
import type { VideoFiles } from "../src/files/video-files";
import { problemOf } from "../src/http/problem";
import { LocalQueue } from "../src/queue/local-queue";
import type { NewVideo } from "../src/queue/video-queue";
import type { VideoTable } from "../src/queue/video-table";
import { hasEnded, type VideoRecord } from "../src/videos/record";
import { makeVideoId } from "../src/videos/video-id";
import type { WorkerProcess } from "../src/workers/worker-process";
import { openTable, temporaryFolder } from "./support/harness";

/** What the system says of a full disk, or of another mistake. */
const systemError = (code: string) =>
  Object.assign(new Error(`${code}: /srv/videos/x`), { code, errno: -28, syscall: "write" });

const newVideo = (): NewVideo => ({
  ...{ id: makeVideoId(), owner: "a", createdAt: Date.now(), model: "m", prompt: null, priority: "normal" },
  ...{ previewEvery: 0, profile: false, webhook: null, metadata: {}, source: null },
  settings: { width: 8, height: 8, numFrames: 1, fps: 7, seed: "1" },
  picture: { width: 8, height: 8, mediaType: "image/png", crop: { left: 0, top: 0, width: 8, height: 8 } },
});

const RESULT = { timings: {}, peakBytes: 0, spritesheet: { columns: 1, rows: 1, width: 8, height: 8 }, files: [] };

/** A queue over files and a table that fail as `commit` and `update` say. */
async function faultyQueue(commit: () => void, update: () => void = () => {}) {
  const { folder, remove } = temporaryFolder();
  const table: VideoTable = openTable(folder);
  const tidied: string[] = [];
  const files = {
    begin: async () => ({ picture: "", output: "", steps: "" }),
    commit: async () => {
      commit();
      return RESULT;
    },
    tidy: async (id: string) => void tidied.push(id),
  } as unknown as VideoFiles;
  const worker = {
    make: async () => ({ type: "done", result: RESULT }),
    cancel: () => {},
    stop: async () => {},
  } as unknown as WorkerProcess;
  const whole = table.update.bind(table);
  table.update = (id, change, also) => {
    if (change.status === "completed" || change.status === "in_progress") update();
    return whole(id, change, also);
  };
  const modelOf = (id: string) => ({ id, source: "", device: "cpu" as const });
  const queue = await LocalQueue.open({ table, files, workers: [worker], modelOf, onEnd: () => {} });
  const ended = async (id: string): Promise<VideoRecord> => {
    let video = await queue.get(id);
    for (; !video || !hasEnded(video); video = await queue.get(id)) await new Promise((done) => setTimeout(done, 20));
    return video;
  };
  return { queue, ended, tidied, remove };
}

it("a disk that is full fails a video in a sentence without paths, and leaves nothing of it", async () => {
  const { queue, ended, tidied, remove } = await faultyQueue(() => {
    throw systemError("ENOSPC");
  });
  const video = await queue.add(newVideo(), 10);
  const { error } = await ended(video.id);
  expect(error).toEqual({ code: "no_room", message: expect.stringMatching(/no room left/) });
  expect(tidied).toEqual([video.id]);
  await queue.drain(0);
  remove();
});

it("another fault of the disk tells no path of this machine", async () => {
  const { queue, ended, remove } = await faultyQueue(() => {
    throw systemError("EACCES");
  });
  const { error } = await ended((await queue.add(newVideo(), 10)).id);
  expect(error).toEqual({ code: "io", message: "The server could not keep the files of this video (EACCES)." });
  await queue.drain(0);
  remove();
});

it("a database that cannot be written for a while loses no video and ends no server", async () => {
  const fails = [true, false, true, true];
  const full = () => {
    if (fails.shift()) throw Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
  };
  const { queue, ended, remove } = await faultyQueue(() => {}, full);
  const video = await queue.add(newVideo(), 10);
  // The beginning fails once, the end twice.
  expect(await ended(video.id)).toMatchObject({ status: "completed", attempts: 1 });
  expect(fails).toEqual([]);
  await queue.drain(0);
  remove();
});

it("a call is told of a full disk", () => {
  expect(problemOf(systemError("ENOSPC"))).toMatchObject({ status: 507, code: "no_room" });
  const cause = Object.assign(new Error("full"), { code: "SQLITE_FULL" });
  expect(problemOf(new Error("The video was not noted.", { cause }))).toMatchObject({ status: 507 });
});
