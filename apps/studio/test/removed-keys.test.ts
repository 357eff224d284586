import { once } from "node:events";
import { openLiveSite } from "@vd/live-app/site";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WebSocket } from "ws";
import { addKeyCommand, removeKeyCommand } from "../src/commands/keys";
import type { VideoView } from "../src/videos/view";
import { startTestStudio, type TestStudio, temporaryFolder } from "./support/harness";

const { folder, remove } = temporaryFolder();
const page = temporaryFolder();
const settings = { data: folder, redis: undefined, videos: 10, perMinute: 1000 };
let studio: TestStudio;
/** A key that nobody removes. */
let kept: Record<string, string>;

const newKey = async (name: string) => {
  const text = await addKeyCommand(settings, name);
  return { id: /key_\w+/.exec(text)![0], headers: { authorization: `Bearer ${text.split("\n")[0]}` } };
};

beforeAll(async () => {
  kept = (await newKey("kept")).headers;
  const openLive = () => openLiveSite({}, "<!doctype html><title>page</title>");
  studio = await startTestStudio(folder, ["--host", "0.0.0.0"], { page: page.folder, openLive });
});
afterAll(async () => {
  await studio.stop();
  remove();
  page.remove();
});

/** Reads a stream until the server ends it, and no longer than 50 s. */
const wholeText = async (path: string, headers: Record<string, string>) =>
  (await studio.call(path, { headers, signal: AbortSignal.timeout(50_000) })).text();

const LAST = 'event: closed\ndata: {"reason":"key_removed","detail":"The key of this connection was removed."}\n\n';

it("connections that listen to events end with the reason soon after their key was removed, and those of other keys go on", async () => {
  const { id, headers } = await newKey("gone");
  const video = (await (await studio.submit({ steps: 1000 }, headers)).json()) as VideoView;
  const streams = [wholeText("v1/events", headers), wholeText(`v1/videos/${video.id}/events`, headers)];
  const controller = new AbortController();
  const others = await studio.call("v1/events", { headers: kept, signal: controller.signal });
  let isOver = false;
  const reading = others.text().then(
    () => {
      isOver = true;
    },
    () => {},
  );
  // Both are open and have said how things stand.
  while (!/^vd_event_clients 3$/m.test(await (await studio.call("metrics", { headers: kept })).text()));
  await removeKeyCommand(settings, id);
  for (const text of await Promise.all(streams)) {
    expect(text).toContain(video.id);
    expect(text.endsWith(LAST)).toBe(true);
  }
  expect((await studio.call("v1/events", { headers })).status).toBe(401);
  expect(isOver).toBe(false);
  controller.abort();
  await reading;
});

it("so do sockets of the live game", async () => {
  const { id, headers } = await newKey("player");
  const socket = new WebSocket(new URL("live/socket", studio.url).href.replace("http", "ws"), { headers });
  await once(socket, "message");
  await removeKeyCommand(settings, id);
  const [code, reason] = (await once(socket, "close")) as [number, Buffer];
  expect([code, String(reason)]).toEqual([1008, "key_removed"]);
});

it("a socket that is called as a page says what it is", async () => {
  const answer = await studio.call("live/socket", { headers: kept });
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([426, "upgrade_required"]);
});

it("a server that stops says so", async () => {
  const { folder: own, remove: removeOwn } = temporaryFolder();
  const other = await startTestStudio(own);
  const text = other.call("v1/events").then((response) => response.text());
  while (!/^vd_event_clients 1$/m.test(await (await other.call("metrics")).text()));
  await other.stop();
  expect(await text).toContain('event: closed\ndata: {"reason":"draining"');
  removeOwn();
});
