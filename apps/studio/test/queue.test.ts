import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { openDatabase } from "../src/queue/database";
import { IdempotencyError, LimitError, type NewVideo } from "../src/queue/video-queue";
import { VideoTable } from "../src/queue/video-table";
import { orderOf } from "../src/redis/redis-videos";
import type { Priority } from "../src/videos/record";
import { isVideoId, makeVideoId } from "../src/videos/video-id";
import { resumeOption } from "../src/workers/resume";
import { temporaryFolder } from "./support/harness";

const removals: (() => void)[] = [];
let table: VideoTable;
let now = 1;
beforeEach(() => {
  const { folder, remove } = temporaryFolder();
  const database = openDatabase(folder);
  removals.push(() => {
    database.close();
    remove();
  });
  table = new VideoTable(database);
});
afterAll(() => {
  for (const remove of removals) remove();
});

const video = (owner: string, priority: Priority = "normal"): NewVideo => ({
  ...{
    id: makeVideoId(now++),
    owner,
    createdAt: 0,
    model: "m",
    prompt: null,
    priority,
    previewEvery: 0,
    profile: false,
  },
  settings: { width: 8, height: 8, numFrames: 1, fps: 7, seed: "1" },
  picture: { width: 8, height: 8, mediaType: "image/png", crop: { left: 0, top: 0, width: 8, height: 8 } },
  ...{ webhook: null, metadata: {}, source: null },
});
const add = (owner: string, count: number, priority?: Priority) => {
  for (let i = 0; i < count; i++) table.add(video(owner, priority), 1000);
};
const served = (count: number) => Array.from({ length: count }, () => table.takeNext()?.owner ?? "-").join("");

describe("turns", () => {
  it("go round the keys, however many each of them queues", () => {
    add("a", 6);
    add("b", 2);
    expect(served(8)).toBe("ababaaaa");
  });

  it("give no credit to a key that was idle, and none is starved by one that comes later", () => {
    add("a", 4);
    expect(served(2)).toBe("aa");
    add("b", 3);
    expect(served(5)).toBe("abab" + "b");
  });

  it("are of one priority; a higher one comes first", () => {
    add("a", 2, "low");
    add("a", 2);
    add("b", 1, "high");
    expect(served(6)).toBe("baaaa-");
    expect(orderOf({ priority: "high", turn: 599_999 })).toBeLessThan(orderOf({ priority: "normal", turn: 1 }));
    expect(orderOf({ priority: "low", turn: 10 ** 9 })).toBeLessThan(2 ** 21);
  });

  it("tell how many come before a video", () => {
    add("a", 3);
    const last = table.add(video("b"), 1000);
    expect(table.positionOf(last)).toBe(1);
  });
});

describe("the table", () => {
  it("keeps a limit, and a call's key", () => {
    const call = { key: "k", fingerprint: "f" };
    const first = table.add(video("a"), 2, call);
    expect(table.add(video("a"), 2, call).id).toBe(first.id);
    expect(() => table.add(video("a"), 2, { ...call, fingerprint: "g" })).toThrow(IdempotencyError);
    expect(table.add(video("b"), 2, call).id).not.toBe(first.id);
    add("a", 1);
    expect(() => table.add(video("a"), 2)).toThrow(LimitError);
  });

  it("changes nothing that has ended, and nothing where a part of the change fails", () => {
    const { id } = table.add(video("a"), 10);
    const fail = () => {
      throw new Error("no webhook");
    };
    expect(() => table.update(id, { status: "completed" }, fail)).toThrow("no webhook");
    expect(table.get(id)!.status).toBe("queued");
    expect(table.update(id, { status: "failed" })!.status).toBe("failed");
    expect(table.update(id, { status: "completed" })).toBeUndefined();
    expect(table.update("video_none", { status: "completed" })).toBeUndefined();
  });

  it("lists by owner and status, page by page, both ways", () => {
    add("a", 3);
    add("b", 1);
    const all = table.list({ owner: undefined, order: "desc", limit: 10 });
    expect(all.map(({ owner }) => owner).join("")).toBe("baaa");
    const page = table.list({ owner: "a", order: "asc", limit: 2 });
    const rest = table.list({ owner: "a", order: "asc", limit: 2, after: page[1]!.id });
    expect([...page, ...rest].map(({ id }) => id)).toEqual(
      all
        .slice(1)
        .reverse()
        .map(({ id }) => id),
    );
    expect(table.list({ owner: "a", status: "completed", order: "asc", limit: 2 })).toEqual([]);
  });
});

it("ids are in the order of time, and safe as names of folders", () => {
  const ids = [1, 2, 10, 10 ** 12].map((ms) => makeVideoId(ms));
  expect(ids.toSorted()).toEqual(ids);
  expect(ids.every(isVideoId)).toBe(true);
  for (const text of ["video_..", "../video_1", "video_1", `${ids[0]}/..`]) expect(isVideoId(text)).toBe(false);
});

it("a pipeline that can resume is told where, another one nothing", () => {
  expect(resumeOption("/steps", {})).toEqual({});
  expect(resumeOption("/steps", { resume: { kind: { kind: "text", expected: "a folder" }, doc: "" } })).toEqual({
    resume: "/steps",
  });
});
