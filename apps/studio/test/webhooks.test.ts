import { createServer } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { secretCommand } from "../src/commands/keys";
import type { VideoView } from "../src/videos/view";
import { startTestStudio, type TestStudio, temporaryFolder } from "./support/harness";
import { HAS_REDIS, startRedis } from "./support/redis";

/** A public address, which nothing here connects to. */
const PUBLIC = "8.8.8.8";
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const started = async (...[words, more]: [words?: string[], more?: Parameters<typeof startTestStudio>[2]]) => {
  const { folder, remove } = temporaryFolder();
  const studio = await startTestStudio(folder, words, more);
  stops.push(remove, () => studio.stop());
  return { studio, folder };
};

/** A receiver that answers as it is told; `tries` has what came. */
async function receiver(answer: (numTries: number) => number) {
  const tries: { headers: Record<string, string>; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    tries.push({ headers: request.headers as Record<string, string>, body });
    response.writeHead(answer(tries.length)).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stops.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, tries };
}

const queued = async (studio: TestStudio, url: string): Promise<VideoView> =>
  (await (await studio.submit({ webhook: { url } })).json()) as VideoView;

/** Waits until the webhook of a video stands so. */
async function webhookOf(
  studio: TestStudio,
  id: string,
  isSo: (webhook: NonNullable<VideoView["webhook"]>) => boolean,
) {
  for (;;) {
    const { webhook } = await studio.json<VideoView>(`v1/videos/${id}`);
    if (isSo(webhook!)) return webhook;
    await wait(20);
  }
}

it("are signed, tried again until they are taken, and seen in the video, the log and the metrics", async () => {
  const { studio, folder } = await started(["--allow-private"], { retryMs: [50, 50, 50] });
  const { url, tries } = await receiver((numTries) => (numTries > 2 ? 204 : 500));
  const { id, webhook } = await queued(studio, url);
  expect(webhook).toEqual({ url, status: "pending", attempts: 0, lastError: null });
  await webhookOf(studio, id, ({ status }) => status === "retrying");
  const last = await webhookOf(studio, id, ({ status }) => status === "delivered");
  expect(last).toEqual({ url, status: "delivered", attempts: 3, lastError: null });
  const { headers, body } = tries.at(-1)!;
  const settings = { data: folder, redis: undefined, videos: 1, perMinute: 1 };
  const secret = new Webhook((await secretCommand(settings, "local")).trim());
  expect(secret.verify(body, headers)).toMatchObject({ type: "video.completed", data: { id, status: "completed" } });
  expect(() => secret.verify(body.replace("completed", "failed"), headers)).toThrow();
  expect(new Set(tries.map((each) => each.headers["webhook-id"]))).toEqual(new Set([`msg_${id}`]));
  expect(studio.logs).toEqual(
    [1, 2].map((n) => `webhook of ${id}: try ${n} failed, tried again later: The server answered 500.\n`),
  );
  const metrics = await (await studio.call("metrics")).text();
  expect(metrics).toContain('vd_webhook_tries_total{status="retrying"} 2');
  expect(metrics).toContain('vd_webhook_tries_total{status="delivered"} 1');
});

it("are refused at once where they would never be called", async () => {
  const lookup = vi.fn<LookupFunction>((name, _, done) =>
    done(null, [
      { address: name === "inside.example" ? "10.0.0.9" : PUBLIC, family: 4 },
      { address: PUBLIC, family: 4 },
    ]),
  );
  const { studio } = await started([], { lookup });
  for (const url of [
    ...[
      "http://127.0.0.1:6379/",
      "http://2130706433/",
      "http://0x7f.1/",
      "http://0177.0.0.1/",
      "http://[::1]/",
      "http://127.1/",
    ],
    ...[
      "http://[::ffff:10.0.0.1]/",
      "http://[::ffff:a00:1]/",
      "http://169.254.169.254/latest",
      "http://0/",
      "http://[::]/",
    ],
    ...["http://[fd00::1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "https://inside.example/hook"],
    ...["http://１２７.0.0.1/", "http://192.168.1.1./", "http://user:secret@example.com/"],
  ]) {
    const answer = await studio.submit({ webhook: { url } });
    expect([answer.status, answer.headers.get("content-type")], url).toEqual([
      422,
      "application/problem+json; charset=utf-8",
    ]);
    const problem = (await answer.json()) as { detail: string };
    expect(problem, url).toMatchObject({ code: "webhook_not_callable", error: { param: "webhook" } });
    expect(problem.detail).toMatch(/not a public one|user name/);
  }
  const long = await studio.submit({ webhook: { url: `https://example.com/${"a".repeat(3000)}` } });
  expect([long.status, ((await long.json()) as { code: string }).code]).toEqual([400, "attr"]);
  expect(await studio.json("v1/videos")).toMatchObject({ data: [] });
});

/** A name that is public when a video is asked for, and leads inside when the video has ended. */
const changing = () => {
  let numCalls = 0;
  return vi.fn<LookupFunction>((_, __, done) =>
    done(null, [{ address: numCalls++ === 0 ? PUBLIC : "127.0.0.1", family: 4 }]),
  );
};

it("that lead inside only when they are called are not, and that is seen", async () => {
  const { studio } = await started([], { lookup: changing(), retryMs: [30] });
  const { url, tries } = await receiver(() => 204);
  const { id, webhook } = await queued(studio, url.replace("127.0.0.1", "rebound.example"));
  expect(webhook?.status).toBe("pending");
  const last = await webhookOf(studio, id, ({ status }) => status === "failed");
  expect(last).toMatchObject({ attempts: 2, lastError: "This address is not a public one, and is not called." });
  expect((await studio.json<VideoView>(`v1/videos/${id}`)).status).toBe("completed");
  expect(tries).toEqual([]);
  expect(studio.logs.join("")).toContain(`webhook of ${id}: try 2 failed, given up: This address is not a public one`);
  expect(await (await studio.call("metrics")).text()).toContain('vd_webhook_tries_total{status="failed"} 1');
});

describe.skipIf(!HAS_REDIS)("on Redis (needs redis-server, which .ci/install-redis installs)", () => {
  let redis: Awaited<ReturnType<typeof startRedis>> | undefined;
  afterAll(() => redis?.stop());

  it("they are seen alike", async () => {
    redis = await startRedis();
    const { url, tries } = await receiver((numTries) => (numTries > 1 ? 200 : 503));
    const words = ["--redis", redis.url, "--allow-private"];
    const { studio } = await started(words, { retryMs: [30] });
    const { id } = await queued(studio, url);
    const last = await webhookOf(studio, id, ({ status }) => status === "delivered");
    expect(last).toEqual({ url, status: "delivered", attempts: 2, lastError: null });
    expect(tries.length).toBe(2);
    expect(studio.logs.join("")).toContain(
      `webhook of ${id}: try 1 failed, tried again later: The server answered 503.`,
    );
  });
});
