import { setTimeout as wait } from "node:timers/promises";
import { Queue } from "bullmq";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addKeyCommand } from "../src/commands/keys";
import { FolderFiles } from "../src/files/folder-files";
import { connectRedis, QUEUES } from "../src/redis/connection";
import { RedisQueue } from "../src/redis/redis-queue";
import type { VideoView } from "../src/videos/view";
import { startTestStudio, type TestStudio, temporaryFolder } from "./support/harness";
import { HAS_REDIS, startRedis } from "./support/redis";

describe.skipIf(!HAS_REDIS)("servers that share a Redis", () => {
  const { folder, remove } = temporaryFolder();
  let redis: Awaited<ReturnType<typeof startRedis>>;
  let servers: TestStudio[];
  beforeAll(async () => {
    redis = await startRedis();
    const words = ["--redis", redis.url, "--workers", "0"];
    servers = await Promise.all([startTestStudio(folder, words), startTestStudio(folder, words)]);
  });
  afterAll(async () => {
    redis.stop();
    await Promise.all(servers.map((server) => server.stop()));
    remove();
  });

  const keyHeaders = async (videos: number, perMinute: number) => {
    const text = await addKeyCommand({ data: folder, redis: redis.url, videos, perMinute }, "ana");
    return { authorization: `Bearer ${text.split("\n")[0]!}` };
  };

  it("count the calls of a key together", async () => {
    const headers = await keyHeaders(10, 6);
    const statuses: number[] = [];
    for (let i = 0; i < 8; i++) statuses.push((await servers[i % 2]!.call("v1/models", { headers })).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429, 429]);
  });

  it("take as many videos of a key as it may have, also when they come at once", async () => {
    const headers = await keyHeaders(3, 1000);
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => servers[i % 2]!.submit({ seed: i }, headers)),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(3).fill(200), ...Array(9).fill(429)]);
    // A call that was refused may be made again with the same key when there is room.
    const [first] = (await servers[0]!.json<{ data: VideoView[] }>("v1/videos")).data;
    const again = { ...headers, "idempotency-key": "later" };
    expect((await servers[0]!.submit({}, again)).status).toBe(429);
    await servers[1]!.call(`v1/videos/${first!.id}`, { method: "DELETE" });
    const [one, other] = [await servers[0]!.submit({}, again), await servers[1]!.submit({}, again)];
    expect([one.status, other.status]).toEqual([200, 200]);
    expect(((await one.json()) as VideoView).id).toBe(((await other.json()) as VideoView).id);
  });

  it("put a video whose job was lost back into the queue, also one that was begun", async () => {
    const client = await connectRedis(redis.url);
    const queue = new RedisQueue(client, new FolderFiles(folder), 50);
    const jobs = new Queue(QUEUES.videos, { connection: client });
    jobs.on("error", () => {});
    const { data } = await servers[0]!.json<{ data: VideoView[] }>("v1/videos?status=queued");
    const [waiting, begun] = data.map(({ id }) => id) as [string, string];
    const longAgo = Date.now() - 60_000;
    await queue.videos.update(waiting, () => ({ createdAt: longAgo }));
    await queue.videos.update(begun, () => ({ status: "in_progress", startedAt: longAgo, attempts: 1 }));
    for (const id of [waiting, begun]) await jobs.remove(id);
    for (const id of [waiting, begun]) while (!(await jobs.getJob(id))) await wait(20);
    await queue.close();
    await jobs.close();
    client.disconnect();
  });

  it("say that it cannot be reached, and answer again when it can", async () => {
    redis.stop();
    for (;;) {
      const answer = await servers[0]!.call("v1/videos", { signal: AbortSignal.timeout(5000) }).catch(() => undefined);
      if (answer?.status === 503) {
        expect(await answer.json()).toMatchObject({ code: "unreachable" });
        break;
      }
      await wait(50);
    }
    expect((await servers[0]!.call("readyz")).status).toBe(503);
    expect((await servers[0]!.call("healthz")).status).toBe(200);
    expect((await servers[0]!.call("openapi.json")).status).toBe(200);
    redis = await startRedis(Number(new URL(redis.url).port));
    while ((await servers[0]!.call("v1/models")).status !== 200) await wait(50);
    expect((await servers[0]!.call("v1/videos")).status).toBe(200);
  }, 120_000);
});
