import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { networkAddresses } from "@vd/app-parts";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { PageRequest, ServerNotice } from "../../src/protocol/control";
import { decodeFrame, encodePicture, type FrameMessage } from "../../src/protocol/frame-message";
import { fakeSessions } from "../support/fake-session";
import { type Running, startVdLive } from "../support/harness";

const running: Running[] = [];
const sockets: WebSocket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  for (const live of running.splice(0)) {
    live.stop();
    await live.ended;
  }
});

async function serve(...words: string[]) {
  const fakes = fakeSessions();
  const live = startVdLive(["--no-open", "--port", "0", ...words], { openSession: fakes.openSession });
  running.push(live);
  return { fakes, url: new URL(await live.url), said: live.said };
}

/** A page that draws each frame at once, unless it is told not to. */
class Page {
  readonly frames: FrameMessage[] = [];
  readonly notices: ServerNotice[] = [];
  private constructor(readonly socket: WebSocket) {}

  static async open(url: URL, { draws = true, headers = {} } = {}): Promise<Page> {
    const socket = new WebSocket(`ws://${url.host}/socket${url.search}`, { headers });
    sockets.push(socket);
    const page = new Page(socket);
    socket.on("message", (data: Buffer, isBinary) => {
      if (!isBinary) return void page.notices.push(JSON.parse(String(data)));
      page.frames.push(decodeFrame(data)!);
      if (draws) page.ask({ type: "drawn", count: page.frames.length });
    });
    await once(socket, "open");
    return page;
  }

  ask(request: PageRequest): void {
    this.socket.send(JSON.stringify(request));
  }

  notice<T extends ServerNotice["type"]>(type: T) {
    return this.notices.filter((notice) => notice.type === type).at(-1) as
      | Extract<ServerNotice, { type: T }>
      | undefined;
  }
}

/** Sends a first line as it stands, which no client would, with a `Host` that is refused. Returns the first line of the answer. */
async function sendLine(url: URL, line: string): Promise<string> {
  const socket = connect(Number(url.port), url.hostname);
  socket.write(`${line}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`);
  let text = "";
  for await (const piece of socket) text += piece;
  return text.split("\r\n")[0]!;
}

/** A plain request: fetch() does not let anybody choose the `Host`. */
function get(url: URL, headers: Record<string, string> = {}, method = "GET") {
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    const sent = request(url, { headers, method }, (response) => {
      let text = "";
      response.on("data", (piece) => {
        text += piece;
      });
      response.on("end", () => resolve({ status: response.statusCode!, headers: response.headers, text }));
    });
    sent.on("error", reject);
    sent.end();
  });
}

describe("a page's connection", () => {
  it("brings the model, then frames; keys act, and frames say which press they have taken in", async () => {
    const { url, fakes } = await serve();
    const page = await Page.open(url);
    await expect.poll(() => page.frames.length).toBeGreaterThan(2);
    expect(page.notice("hello")!.model).toMatchObject({ name: "fake-live", width: 96, height: 64, steps: [1, 2] });
    page.ask({ type: "keys", held: ["ArrowRight", "Space"], input: 1 });
    await expect.poll(() => page.frames.at(-1)!.input).toBe(1);
    const first = page.frames.find(({ input }) => input === 1)!;
    expect([first.action, first.data[1]]).toEqual([5, 200]);
    expect(fakes.opened[0]!.acted).toEqual(["right+jump"]);
  });

  it("shares one game among pages: keys are put together, and go with the page that leaves", async () => {
    const { url, fakes } = await serve();
    const [one, two] = [await Page.open(url), await Page.open(url)];
    one.ask({ type: "keys", held: ["ArrowLeft"], input: 1 });
    await expect.poll(() => fakes.opened[0]!.acted.at(-1)).toBe("left");
    two.ask({ type: "keys", held: ["ArrowUp"], input: 1 });
    await expect.poll(() => fakes.opened[0]!.acted.at(-1)).toBe("left+jump");
    one.socket.close();
    await expect.poll(() => fakes.opened[0]!.acted.at(-1)).toBe("jump");
  });

  it("gives a page that stands still two frames, while others get all", async () => {
    const { url } = await serve();
    const [still, quick] = [await Page.open(url, { draws: false }), await Page.open(url)];
    await expect.poll(() => quick.frames.length).toBeGreaterThan(20);
    expect(still.frames.length).toBe(2);
    still.ask({ type: "drawn", count: 1 });
    await expect.poll(() => still.frames.length).toBe(3);
    expect(still.frames.at(-1)!.index).toBeGreaterThan(15);
  });

  it.each([
    ["says that it has drawn what it does not read", { type: "drawn", count: 2 ** 32 - 1 } as const, 200],
    ["asks for what does not exist and does not listen", { type: "back" } as const, 5000],
  ])(
    "lets go of a page that %s",
    async (_, request, each) => {
      const { url, fakes } = await serve("--fps", "240");
      const page = await Page.open(url);
      await expect.poll(() => page.frames.length).toBeGreaterThan(2);
      page.socket.pause();
      await expect
        .poll(
          () => {
            for (let i = 0; i < each; i++) page.ask(request);
            return fakes.opened[0]!.paused;
          },
          { timeout: 30_000 },
        )
        .toBe(true);
    },
    40_000,
  );

  it("stands still while nobody watches", async () => {
    const { url, fakes } = await serve();
    const page = await Page.open(url);
    await expect.poll(() => page.frames.length).toBeGreaterThan(2);
    page.socket.close();
    await expect.poll(() => fakes.opened[0]!.paused).toBe(true);
    const again = await Page.open(url);
    await expect.poll(() => again.frames.length).toBeGreaterThan(2);
  });

  it("does not begin before somebody watches, and ends while keys are held", async () => {
    const { url, fakes } = await serve();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(fakes.opened[0]!.stats().frames).toBe(0);
    const page = await Page.open(url);
    page.ask({ type: "keys", held: ["ArrowLeft"], input: 1 });
    await expect.poll(() => fakes.opened[0]!.acted.at(-1)).toBe("left");
    running[0]!.stop();
    expect(await running[0]!.ended).toMatchObject({ status: 0 });
  });

  it("answers what it cannot do in a sentence, and goes on", async () => {
    const { url } = await serve();
    const page = await Page.open(url);
    const errorAfter = async (send: () => void) => {
      const before = page.notices.filter(({ type }) => type === "error").length;
      send();
      await expect.poll(() => page.notices.filter(({ type }) => type === "error").length).toBe(before + 1);
      return page.notice("error")!.message;
    };
    expect(await errorAfter(() => page.ask({ type: "steps", steps: 9 }))).toContain("steps of 1 or 2, got 9");
    expect(await errorAfter(() => page.ask({ type: "start", name: "moon" }))).toContain('got "moon"');
    expect(await errorAfter(() => page.ask({ type: "back" }))).toContain("expected a state that was kept before");
    expect(await errorAfter(() => page.socket.send("{"))).toContain("did not understand");
    expect(await errorAfter(() => page.socket.send(new Uint8Array(3)))).toContain("camera's picture");
    const small = encodePicture({ format: "rgba", width: 1, height: 1, data: new Uint8Array(4) });
    expect(await errorAfter(() => page.socket.send(small))).toContain("expected 96x64, got 1x1");
    const count = page.frames.length;
    await expect.poll(() => page.frames.length).toBeGreaterThan(count + 2);
  });

  it("lives through new games one upon the other, and tells the page to send its camera", async () => {
    const { url, fakes } = await serve("--input", "webcam");
    const page = await Page.open(url);
    for (let seed = 1; seed <= 5; seed++) page.ask({ type: "start", name: "desert-noon", seed });
    await expect.poll(() => page.notice("state")?.state.seed).toBe(5);
    await expect.poll(() => fakes.opened.filter(({ closed }) => !closed).length).toBe(1);
    const count = page.frames.length;
    await expect.poll(() => page.frames.length).toBeGreaterThan(count + 3);
    expect(page.notice("hello")!.camera).toBe(true);
    expect(fakes.opened.find(({ closed }) => !closed)!.options.seed).toBe(5);
  });

  it("sends JPEG where it is asked to", async () => {
    const { url } = await serve("--picture", "jpeg");
    const page = await Page.open(url);
    await expect.poll(() => page.frames.length).toBeGreaterThan(1);
    const { format, data } = page.frames[0]!;
    expect([format, data[0], data[1]]).toEqual(["jpeg", 0xff, 0xd8]);
  });
});

describe("whom the server answers", () => {
  it("its own page, with headers that let nothing else in", async () => {
    const { url } = await serve();
    const { status, headers, text } = await get(url);
    expect([status, text.slice(0, 15)]).toEqual([200, "<!doctype html>"]);
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    expect(headers["content-security-policy"]).toMatch(/script-src 'sha256-[^']+'/);
    expect((await get(new URL("/start/meadow-morning.png", url))).headers["content-type"]).toBe("image/png");
    for (const path of ["/start/moon.png", "/start/..%2fx.png", "/socket", "/package.json"])
      expect((await get(new URL(path, url))).status, path).toBe(404);
    expect((await get(url, {}, "POST")).status).toBe(404);
  });

  it("no other name and no other site: DNS rebinding, cross-site pages", async () => {
    const { url } = await serve();
    expect((await get(url, { host: "evil.example" })).status).toBe(403);
    expect((await get(url, { origin: "http://evil.example" })).status).toBe(403);
    await expect(Page.open(url, { headers: { host: "evil.example" } })).rejects.toThrow("403");
    await expect(Page.open(url, { headers: { origin: "http://evil.example" } })).rejects.toThrow("403");
    await expect(Page.open(url, { headers: { origin: url.origin } })).resolves.toBeDefined();
  });

  it.each(["//", "http://", "//[", "*"])("the address %s with no, too, and lives on", async (address) => {
    const { url } = await serve();
    expect(await sendLine(url, `GET ${address} HTTP/1.1`)).toBe("HTTP/1.1 403 Forbidden");
    expect((await get(url)).status).toBe(200);
  });

  it("on the network only who has the token", async () => {
    const { url, said } = await serve("--host", "0.0.0.0");
    // A phone cannot open "localhost".
    const elsewhere = networkAddresses().map(
      (address) =>
        `From other machines: http://${address.includes(":") ? `[${address}]` : address}:${url.port}/${url.search}`,
    );
    expect(
      said()
        .split("\n")
        .filter((line) => line.startsWith("From")),
    ).toEqual(elsewhere);
    expect(url.searchParams.get("token")).toMatch(/^[0-9a-f]{32}$/);
    expect((await get(url)).status).toBe(200);
    expect((await get(new URL("/", url))).status).toBe(403);
    await expect(Page.open(new URL("/", url))).rejects.toThrow("403");
    const page = await Page.open(url);
    await expect.poll(() => page.frames.length).toBeGreaterThan(1);
  });
});
