import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import type { VideoView } from "../src/videos/view";
import { pictureAddress, TINY, temporaryFolder } from "./support/harness";
import { spawnProgram } from "./support/spawn-program";

const isLong = process.env.VD_LONG === "1";
const [NUM_VIDEOS, NUM_KILLS] = isLong ? [60, 40] : [4, 2];
const WORKERS = 2;

/** The same moments in every run. */
function* moments(seed = 1): Generator<number> {
  for (let state = seed; ; ) {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    yield state / 2 ** 32;
  }
}

it(
  "a server that is killed at any moment loses nothing and does nothing twice",
  async () => {
    const { folder, remove } = temporaryFolder();
    const start = () =>
      spawnProgram("--no-open", "--port", "0", "--data", folder, "--workers", String(WORKERS), "--threads", "1");
    const image = await pictureAddress();
    let server = await start();
    const ask = async <T>(path: string, init?: RequestInit) =>
      (await fetch(new URL(path, server.line), init)).json() as Promise<T>;
    const submit = (i: number) => {
      const headers = { "content-type": "application/json", "idempotency-key": `video ${i}` };
      const body = JSON.stringify({ image, ...TINY, steps: 2, seed: i });
      return ask<VideoView>("v1/videos", { method: "POST", headers, body });
    };
    const random = moments();
    const queue = Array.from({ length: NUM_VIDEOS }, (_, i) => i);
    const ids = new Set<string>();
    for (let kills = 0; kills < NUM_KILLS; kills++) {
      // A call that the kill has cut off is made again with the same key, as a client would.
      const submitting = Promise.all(queue.map(async (i) => ids.add((await submit(i)).id))).catch(() => {});
      await wait(random.next().value! * 4000);
      await server.end("SIGKILL");
      await submitting;
      server = await start();
    }
    for (const i of queue) ids.add((await submit(i)).id);
    expect(ids.size).toBe(NUM_VIDEOS);
    const list = async () => (await ask<{ data: VideoView[] }>("v1/videos?limit=100")).data;
    while ((await list()).some(({ status }) => status === "queued" || status === "in_progress")) await wait(100);
    const videos = await list();
    expect(videos.map(({ status }) => status)).toEqual(Array(NUM_VIDEOS).fill("completed"));
    expect(new Set(videos.map(({ settings }) => settings.seed)).size).toBe(NUM_VIDEOS);
    // Only what ran when the server was killed was begun again.
    const begun = videos.reduce((sum, { attempts }) => sum + attempts, 0);
    expect(begun).toBeLessThanOrEqual(NUM_VIDEOS + NUM_KILLS * WORKERS);
    expect((await readdir(join(folder, "videos"))).sort()).toEqual([...ids].sort());
    for (const id of ids) expect((await readdir(join(folder, "videos", id))).sort()).toEqual(["picture", "result"]);
    await expect(start()).rejects.toThrow("another vd-studio uses");
    expect(await server.end("SIGTERM")).toBe(0);
    remove();
  },
  isLong ? 1_800_000 : 240_000,
);
