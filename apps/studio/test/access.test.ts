import { createServer } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { addKeyCommand, listKeysCommand, removeKeyCommand, secretCommand } from "../src/commands/keys";
import { type FetchRules, safeFetch, safePost } from "../src/inputs/safe-fetch";
import type { KeysSettings } from "../src/options/settings";
import type { VideoView } from "../src/videos/view";
import { startTestStudio, type TestStudio, temporaryFolder } from "./support/harness";
import { firstLine } from "./support/raw-call";

const { folder, remove } = temporaryFolder();
const settings: KeysSettings = { data: folder, redis: undefined, videos: 2, perMinute: 30 };
const keyOf = (text: string) => text.split("\n")[0]!;
const idOf = (text: string) => /key_\w+/.exec(text)![0];
let studio: TestStudio;
let key: string;
let id: string;
let secret: string;
let other: string;

beforeAll(async () => {
  await expect(startTestStudio(folder, ["--host", "0.0.0.0"])).rejects.toThrow("vd-studio keys add NAME");
  const added = await addKeyCommand(settings, "ana");
  [key, id, secret] = [keyOf(added), idOf(added), /whsec_\S+/.exec(added)![0]];
  other = keyOf(await addKeyCommand({ ...settings, perMinute: 5 }, "ben"));
  studio = await startTestStudio(folder, ["--host", "0.0.0.0"]);
});
afterAll(async () => {
  await studio.stop();
  remove();
});

const bearer = (given: string) => ({ authorization: `Bearer ${given}` });

describe("keys", () => {
  it("are shown once, listed, and kept as hashes", async () => {
    expect(await listKeysCommand(settings)).toContain(`${id}  `);
    expect(await secretCommand(settings, id)).toBe(`${secret}\n`);
    const { readFile } = await import("node:fs/promises");
    for (const name of ["studio.db", "studio.db-wal"])
      expect((await readFile(`${folder}/${name}`)).includes(key)).toBe(false);
  });

  it("let in who has one, by header or by the page's cookie", async () => {
    expect((await studio.call("v1/videos")).status).toBe(401);
    expect((await studio.call("metrics")).status).toBe(401);
    expect((await studio.call("healthz")).status).toBe(200);
    expect((await studio.call("v1/videos", { headers: bearer("sk-vd-wrong") })).status).toBe(401);
    expect((await studio.call("v1/videos", { headers: bearer(key) })).status).toBe(200);
    const session = await studio.call("session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ key }),
    });
    const cookie = session.headers.get("set-cookie")!;
    expect(cookie).toContain("HttpOnly; SameSite=Strict");
    expect((await studio.call("v1/videos", { headers: { cookie: cookie.split(";")[0]! } })).status).toBe(200);
  });

  it("are asked for however the address is written", async () => {
    for (const path of [
      ...["/v1/videos", "/%761/videos", "/v1/%76ideos", "http://localhost/v1/videos", "/metrics", "/metric%73"],
    ])
      expect(await firstLine(studio.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`), path).toContain(" 401 ");
    for (const path of ["/healthz", "/readyz", "/openapi.json"])
      expect(await firstLine(studio.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`), path).toContain(" 200 ");
  });

  it("see their own videos only, and as many as they may have", async () => {
    const [a, b, c] = [
      await studio.submit({ steps: 300 }, bearer(key)),
      await studio.submit({}, bearer(key)),
      await studio.submit({}, bearer(key)),
    ];
    expect([a.status, b.status, c.status]).toEqual([200, 200, 429]);
    const { id: video } = (await a.json()) as VideoView;
    expect((await studio.call(`v1/videos/${video}`, { headers: bearer(other) })).status).toBe(404);
    for (const answer of [video, ((await b.json()) as VideoView).id])
      expect((await studio.call(`v1/videos/${answer}`, { method: "DELETE", headers: bearer(key) })).status).toBe(200);
    let status = 200;
    for (let i = 0; i < 8 && status === 200; i++)
      status = (await studio.call("v1/models", { headers: bearer(other) })).status;
    expect(status).toBe(429);
  });

  it("are taken away", async () => {
    const gone = await addKeyCommand(settings, "cy");
    expect((await studio.call("v1/models", { headers: bearer(keyOf(gone)) })).status).toBe(200);
    expect(await removeKeyCommand(settings, idOf(gone))).toContain("taken away");
    expect((await studio.call("v1/models", { headers: bearer(keyOf(gone)) })).status).toBe(401);
    await expect(removeKeyCommand(settings, "key_0")).rejects.toThrow("the id of a key");
  });
});

describe("addresses of clients", () => {
  const rules: FetchRules = { allowPrivate: false, maxBytes: 1000, timeoutMs: 5000 };
  it.each([
    "http://127.0.0.1/a",
    "http://localhost/a",
    "http://2130706433/a",
    "http://0x7f000001/a",
    "http://0177.0.0.1/a",
    "http://127.1/a",
    "http://[::1]/a",
    "http://[::ffff:127.0.0.1]/a",
    "http://[::ffff:7f00:1]/a",
    "http://[fd00::1]/a",
    "http://[fe80::1]/a",
    "http://[64:ff9b::7f00:1]/a",
    "http://0.0.0.0/a",
    "http://10.0.0.1/a",
    "http://172.16.0.1/a",
    "http://192.168.0.1/a",
    "http://169.254.169.254/latest/meta-data",
    "http://100.64.0.1/a",
  ])("%s leads nowhere", async (address) => {
    await expect(safeFetch(address, rules)).rejects.toThrow("not a public one");
  });

  it.each(["ftp://a/b", "http://user:pass@example.com/", "//a"])("%s is refused", async (address) => {
    await expect(safeFetch(address, rules)).rejects.toThrow(/Expected an http|user name/);
  });

  it("follows redirects with the same rules, and stops at the limit of bytes", async () => {
    const server = createServer((request, response) => {
      if (request.url === "/large") response.end(Buffer.alloc(2000));
      else if (request.url === "/loop") response.writeHead(302, { location: "/loop" }).end();
      else if (request.url === "/out") response.writeHead(302, { location: "file:///etc/passwd" }).end();
      else response.writeHead(200, { "content-type": "image/png" }).end("ok");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const open = { ...rules, allowPrivate: true };
    expect(await safeFetch(`${base}/a`, open)).toMatchObject({ mediaType: "image/png" });
    await expect(safeFetch(`${base}/large`, open)).rejects.toThrow("larger than");
    await expect(safeFetch(`${base}/loop`, open)).rejects.toThrow("redirects");
    await expect(safeFetch(`${base}/out`, open)).rejects.toThrow("Expected an http");
    server.close();
  });

  it("are checked at each redirect by what the name leads to then", async () => {
    const server = createServer((_, response) => response.writeHead(302, { location: "/inside" }).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    let numCalls = 0;
    // The first address counts as a public one; the same one behind a redirect does not.
    const onlyFirst: FetchRules = {
      ...rules,
      get allowPrivate() {
        return numCalls++ === 0;
      },
    };
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`;
    await expect(safeFetch(address, onlyFirst)).rejects.toThrow("not a public one");
    expect(numCalls).toBe(2);
    server.close();
  });

  it("lead nowhere by a name that changes its mind", async () => {
    const lookup = vi.fn<LookupFunction>((_, __, done) => done(null, [{ address: "127.0.0.1", family: 4 }]));
    const rebound = "http://rebound.example/a";
    await expect(safeFetch(rebound, { ...rules, lookup })).rejects.toThrow("not a public one");
    await expect(safePost(rebound, "{}", {}, { ...rules, lookup })).rejects.toThrow("not a public one");
    expect(lookup).toHaveBeenCalledTimes(2);
  });
});
