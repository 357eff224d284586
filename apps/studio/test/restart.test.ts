import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, expect, it } from "vitest";
import { addKeyCommand } from "../src/commands/keys";
import type { VideoView } from "../src/videos/view";
import { startTestStudio, type TestStudio, temporaryFolder } from "./support/harness";

const { folder, remove } = temporaryFolder();
afterAll(remove);
/** Long enough to be looked at in the midst of it. */
const LONG = { steps: 100 };
const start = (...words: string[]) =>
  startTestStudio(folder, ["--allow-private", ...words], { retryMs: [300, 300, 300] });
const idOf = async (answer: Response) => ((await answer.json()) as VideoView).id;

/** A receiver of webhooks that refuses until it is told. */
async function startReceiver() {
  const ids: string[] = [];
  let status = 503;
  const server = createServer((request, response) => {
    ids.push(String(request.headers["webhook-id"]));
    request.resume().on("end", () => response.writeHead(status).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { ids, url, accept: () => (status = 200), stop: () => void server.close() };
}

it("a server that is started again knows its calls, its keys, its webhooks and what it had begun", async () => {
  const receiver = await startReceiver();
  const key = (await addKeyCommand({ data: folder, redis: undefined, videos: 9, perMinute: 2 }, "ana")).split("\n")[0]!;
  const bearer = { authorization: `Bearer ${key}` };
  const first: TestStudio = await start();
  const done = await idOf(await first.submit({ webhook: { url: receiver.url } }, { "idempotency-key": "done" }));
  await first.ended(done);
  while (receiver.ids.length === 0) await wait(20);
  // One that runs for long, and one behind it.
  const long = await idOf(await first.submit(LONG, { "idempotency-key": "long" }));
  const next = await idOf(await first.submit({}, { "idempotency-key": "next" }));
  const stepOf = async (studio: TestStudio) => (await studio.json<VideoView>(`v1/videos/${long}`)).phase?.step ?? 0;
  while ((await stepOf(first)) < 3) await wait(20);
  for (let i = 0; i < 2; i++) expect((await first.call("v1/models", { headers: bearer })).status).toBe(200);
  expect((await first.call("v1/models", { headers: bearer })).status).toBe(429);
  await first.stop();
  const triesBefore = receiver.ids.length;

  const second = await start();
  // Calls are counted in memory.
  expect((await second.call("v1/models", { headers: bearer })).status).toBe(200);
  for (const [name, id, fields] of [
    ["done", done, { webhook: { url: receiver.url } }],
    ["long", long, LONG],
    ["next", next, {}],
  ] as const)
    expect(await idOf(await second.submit(fields, { "idempotency-key": name }))).toBe(id);
  expect((await second.submit({ seed: 1 }, { "idempotency-key": "done" })).status).toBe(422);
  receiver.accept();
  while (receiver.ids.length === triesBefore) await wait(20);
  expect(new Set(receiver.ids)).toEqual(new Set([`msg_${done}`]));
  const resumed = await second.ended(long);
  expect(resumed).toMatchObject({ status: "completed", attempts: 2 });
  expect((await second.ended(next)).attempts).toBe(1);
  expect((await second.json<{ data: VideoView[] }>("v1/videos")).data.length).toBe(3);
  await second.stop();
  receiver.stop();
}, 180_000);

it("a server that is stopped lets running work end, takes none, and answers what is asked meanwhile", async () => {
  const studio = await start("--drain-seconds", "60");
  const id = await idOf(await studio.submit(LONG));
  while ((await studio.json<VideoView>(`v1/videos/${id}`)).status !== "in_progress") await wait(10);
  const events = studio.call(`v1/videos/${id}/events`).then((answer) => answer.text());
  await wait(50);
  const stopped = studio.stop();
  const refused = await studio.submit();
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "10"]);
  expect((await studio.call("readyz")).status).toBe(503);
  expect((await studio.call(`v1/videos/${id}`)).status).toBe(200);
  await stopped;
  expect(await events).toContain("event: completed");
  await expect(studio.call("healthz")).rejects.toThrow();
}, 180_000);
