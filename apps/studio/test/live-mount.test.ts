import { once } from "node:events";
import { openLiveSite } from "@vd/live-app/site";
import Fastify from "fastify";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { KeyWatch } from "../src/http/key-watch";
import type { KeyRecord, KeyStore } from "../src/keys/key-store";
import { mountLive } from "../src/live-mount";
import { LOCAL_OWNER } from "../src/videos/record";

/** Who needs no key. */
const CALLER = { id: LOCAL_OWNER } as KeyRecord;

describe("the live game's window", () => {
  let numOpened = 0;
  const app = Fastify();
  let origin: string;

  beforeAll(async () => {
    app.addHook("onRequest", async (request, reply) => {
      if (request.headers.authorization !== undefined) await reply.code(403).send();
      request.caller = CALLER;
    });
    await mountLive(app, new KeyWatch({} as KeyStore), () => {
      numOpened++;
      return openLiveSite({}, "<!doctype html><title>page</title><style></style><script></script>");
    });
    origin = await app.listen({ port: 0 });
  });
  afterAll(() => app.close());

  it("opens no game before somebody looks at it", () => expect(numOpened).toBe(0));

  it("has the page, which pages of this server alone may frame", async () => {
    const response = await fetch(`${origin}/live`);
    expect(response.url).toBe(`${origin}/live/`);
    expect(await response.text()).toContain("<title>page</title>");
    expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'self'");
  });

  it("has pictures of the start states, and of those alone", async () => {
    const picture = await fetch(`${origin}/live/start/meadow-morning.png`);
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect((await picture.arrayBuffer()).byteLength).toBeGreaterThan(100);
    for (const name of ["nowhere.png", "..%2F..%2Fmodel.png"])
      expect((await fetch(`${origin}/live/start/${name}`)).status, name).toBeGreaterThanOrEqual(400);
  });

  it("plays one game for all, over sockets that the server's hooks let in", async () => {
    const sockets = [1, 2].map(() => new WebSocket(`${origin.replace("http", "ws")}/live/socket`));
    const firstFrame = async (socket: WebSocket) => {
      for (;;) {
        const [data, isBinary] = (await once(socket, "message")) as [Buffer, boolean];
        if (isBinary) return data.length;
      }
    };
    for (const length of await Promise.all(sockets.map(firstFrame))) expect(length).toBeGreaterThan(96 * 64 * 3);
    expect(numOpened).toBe(1);
    for (const socket of sockets) socket.terminate();

    const refused = new WebSocket(`${origin.replace("http", "ws")}/live/socket`, { headers: { authorization: "x" } });
    const [error] = (await once(refused, "error")) as [Error];
    expect(error.message).toContain("403");
  });
});
