import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addKeyCommand } from "../src/commands/keys";
import type { VideoView } from "../src/videos/view";
import { startTestStudio, type TestStudio, temporaryFolder } from "./support/harness";
import { HAS_REDIS, startRedis } from "./support/redis";
import { type Spawned, spawnProgram } from "./support/spawn-program";

const isLong = process.env.VD_LONG === "1";
const NUM_VIDEOS = isLong ? 200 : 24;

describe.skipIf(!HAS_REDIS)("a queue on Redis (needs redis-server, which .ci/install-redis installs)", () => {
  const { folder, remove } = temporaryFolder();
  let redis: Awaited<ReturnType<typeof startRedis>>;
  let studio: TestStudio;
  const workers: Spawned[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    studio = await startTestStudio(folder, ["--redis", redis.url, "--workers", "0"]);
  });
  afterAll(async () => {
    for (const worker of workers) await worker.end("SIGKILL");
    await studio.stop();
    redis.stop();
    remove();
  });

  it(
    "loses nothing and does nothing twice when two of three workers are killed",
    async () => {
      const completed = new Map<string, number>();
      const events = await studio.call("v1/events");
      const reading = (async () => {
        let text = "";
        for await (const part of events.body as unknown as AsyncIterable<Uint8Array>) {
          text += Buffer.from(part).toString();
          const whole = text.split("\n\n");
          text = whole.pop()!;
          for (const event of whole) {
            if (!event.startsWith("event: completed")) continue;
            const { id } = JSON.parse(event.slice(event.indexOf("data: ") + 6)) as VideoView;
            completed.set(id, (completed.get(id) ?? 0) + 1);
          }
        }
      })().catch(() => {});
      for (let i = 0; i < NUM_VIDEOS; i++) expect((await studio.submit({ seed: i })).status).toBe(200);
      const words = ["worker", "--redis", redis.url, "--data", folder, "--threads", "1", "--stalled-seconds", "5"];
      workers.push(...(await Promise.all([spawnProgram(...words), spawnProgram(...words), spawnProgram(...words)])));
      const numRunning = async () =>
        (await studio.json<{ data: VideoView[] }>("v1/videos?status=in_progress")).data.length;
      while ((await numRunning()) < 3) await wait(20);
      await workers[0]!.end("SIGKILL");
      while (completed.size < NUM_VIDEOS / 3) await wait(20);
      await workers[1]!.end("SIGKILL");
      while (completed.size < NUM_VIDEOS) await wait(50);
      // A second end of one would come now, when the work of the dead is found.
      await wait(isLong ? 20_000 : 1000);
      expect([...completed.values()]).toEqual(Array(NUM_VIDEOS).fill(1));
      const done: VideoView[] = [];
      for (let after = ""; done.length < NUM_VIDEOS; after = `&after=${done.at(-1)!.id}`)
        done.push(...(await studio.json<{ data: VideoView[] }>(`v1/videos?limit=100${after}`)).data);
      expect(new Set(done.map(({ settings }) => settings.seed)).size).toBe(NUM_VIDEOS);
      const begun = done.reduce((sum, { attempts }) => sum + attempts, 0);
      expect(begun).toBeGreaterThanOrEqual(NUM_VIDEOS);
      expect(begun).toBeLessThanOrEqual(NUM_VIDEOS + 2);
      await studio.call(`v1/videos/${done[0]!.id}`, { method: "DELETE" });
      expect((await studio.call(`v1/videos/${done[0]!.id}`)).status).toBe(404);
      void reading;
    },
    isLong ? 1_200_000 : 240_000,
  );

  it("cancels across processes, takes the high priority first, and keys take turns", async () => {
    const key = async (name: string) =>
      (await addKeyCommand({ data: folder, redis: redis.url, videos: 100, perMinute: 1000 }, name)).split("\n")[0]!;
    const [ana, ben] = [await key("ana"), await key("ben")];
    const as = async (given: string, fields: object = {}) =>
      (await (await studio.submit({ ...fields }, { authorization: `Bearer ${given}` })).json()) as VideoView;
    const long = await as(ana, { steps: 500 });
    while ((await studio.json<VideoView>(`v1/videos/${long.id}`)).status !== "in_progress") await wait(20);
    const anas = [await as(ana), await as(ana), await as(ana)];
    const bens = [await as(ben)];
    const urgent = await as(ana, { priority: "high" });
    const position = async ({ id }: VideoView) => (await studio.json<VideoView>(`v1/videos/${id}`)).queue_position;
    expect(await position(urgent)).toBe(0);
    expect(await position(bens[0]!)).toBeLessThan((await position(anas[1]!))!);
    const cancelled = await studio.json<VideoView>(`v1/videos/${long.id}/cancel`, { method: "POST" });
    expect(cancelled.error?.code).toBe("cancelled");
    const all = await Promise.all([urgent, ...anas, ...bens].map(({ id }) => studio.ended(id)));
    expect(all.map(({ status }) => status)).toEqual(Array(5).fill("completed"));
  });

  it("makes one video of calls with one idempotency key that come at once", async () => {
    const answers = await Promise.all([1, 2, 3].map(() => studio.submit({}, { "idempotency-key": "k" })));
    const ids = await Promise.all(answers.map(async (answer) => ((await answer.json()) as VideoView).id));
    expect(new Set(ids).size).toBe(1);
    expect((await studio.submit({ seed: 9 }, { "idempotency-key": "k" })).status).toBe(422);
    await studio.ended(ids[0]!);
  });

  it("stops its last worker gracefully, and a worker that cannot reach Redis says so", async () => {
    expect(await workers[2]!.end("SIGTERM")).toBe(0);
    await expect(spawnProgram("worker", "--redis", "redis://127.0.0.1:1")).rejects.toThrow("a Redis that answers");
  });
});
