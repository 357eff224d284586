import { beforeEach, expect, it } from "vitest";
import { EventFanout } from "../src/http/event-fanout";
import type { EventStream } from "../src/http/event-stream";
import type { Studio } from "../src/http/studio";
import { VideoEvents, type VideoProgress } from "../src/videos/events";
import type { VideoRecord } from "../src/videos/record";

const record = (id: string, owner: string, status: VideoRecord["status"]) =>
  ({
    ...{ id, owner, status, createdAt: 0, startedAt: null, completedAt: null, model: "m", metadata: {} },
    settings: { width: 8, height: 8, numFrames: 1, fps: 7, seed: "1" },
    picture: { width: 8, height: 8, crop: { left: 0, top: 0, width: 8, height: 8 } },
  }) as unknown as VideoRecord;

/** A client that remembers the names of its events. */
class FakeStream {
  isBehind = false;
  numPieces = 0;
  readonly heard: string[] = [];

  async send(text: Promise<string> | string | Uint8Array) {
    const whole = await text;
    this.numPieces++;
    for (const [, name, data] of Buffer.from(whole as string)
      .toString()
      .matchAll(/^event: (.*)\ndata: (.*)$/gm)) {
      const { id, step } = JSON.parse(data!) as { id: string; step?: number };
      this.heard.push([name, id, ...(step === undefined ? [] : [step])].join(" "));
    }
  }
}

let videos: VideoRecord[];
let events: VideoEvents;
let fanout: EventFanout;
let numLists: number;
beforeEach(() => {
  videos = [];
  numLists = 0;
  events = new VideoEvents();
  const list = async ({ owner, status }: { owner?: string; status: string }) => {
    numLists++;
    return videos.filter((video) => video.status === status && (owner === undefined || video.owner === owner));
  };
  fanout = new EventFanout({ queue: { events, list, positionOf: async () => 0 } } as unknown as Studio);
});

const join = (owner?: string): FakeStream => {
  const stream = new FakeStream();
  fanout.add(stream as unknown as EventStream, owner);
  return stream;
};
const status = (id: string, owner: string, now: VideoRecord["status"]) =>
  events.publish({ type: "status", video: record(id, owner, now) });
const progress = (id: string, owner: string, step: number) =>
  events.publish({ type: "progress", id, owner, progress: { step } as VideoProgress });
const settled = () => new Promise((done) => setTimeout(done, 0));

it("collects events, sends them in order and in one piece, and of progress only the newest", async () => {
  const client = join();
  await settled();
  status("a", "ana", "in_progress");
  for (const step of [1, 2, 3]) progress("a", "ana", step);
  status("b", "ben", "queued");
  progress("b", "ben", 1);
  progress("a", "ana", 4);
  status("a", "ana", "completed");
  await fanout.flush();
  await settled();
  expect(client.heard).toEqual(["status a", "status b", "progress b 1", "progress a 4", "status a", "completed a"]);
  // How things stood, and one piece.
  expect(client.numPieces).toBe(2);
});

it("tells each owner of theirs only, and who reads slowly of statuses only", async () => {
  const [all, ana, slow] = [join(), join("ana"), join("ana")];
  slow.isBehind = true;
  status("a", "ana", "in_progress");
  progress("a", "ana", 1);
  status("b", "ben", "in_progress");
  await fanout.flush();
  await settled();
  expect(all.heard).toEqual(["status a", "progress a 1", "status b"]);
  expect(ana.heard).toEqual(["status a", "progress a 1"]);
  expect(slow.heard).toEqual(["status a"]);
});

it("looks once for all who come between two pieces, and anew after one", async () => {
  videos = [record("a", "ana", "queued"), record("b", "ben", "in_progress")];
  const first = [join(), join(), join()];
  await settled();
  expect(numLists).toBe(2);
  for (const { heard } of first) expect(heard).toEqual(["status b", "status a"]);
  videos = [];
  await fanout.flush();
  const late = join();
  await settled();
  expect([numLists, late.heard]).toEqual([4, []]);
});

it("sends by itself, and nothing to who has gone", async () => {
  const [stays, goes] = [join(), join()];
  await settled();
  fanout.remove(goes as unknown as EventStream);
  status("a", "ana", "queued");
  while (stays.heard.length === 0) await settled();
  expect([stays.heard, goes.heard]).toEqual([["status a"], []]);
});
