import { createReadStream } from "node:fs";
import websocket, { type WebSocket } from "@fastify/websocket";
import { MAX_MESSAGE_BYTES, type OpenSite, openLiveSite } from "@vd/live-app/site";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { KeyWatch } from "./http/key-watch";
import { Problem } from "./http/problem";

/** What opens the game; tests have another page, or another game. */
export type OpenLiveSite = () => Promise<OpenSite>;

/** Why a socket is closed whose key was removed: against the rules of this server (RFC 6455, 7.4.1). */
const KEY_REMOVED = 1008;

/** One game for all who look at it, opened for the first of them and opened anew when it has ended. */
class SharedGame {
  private opening: Promise<OpenSite> | undefined;

  constructor(private readonly openSite: OpenLiveSite) {}

  get(): Promise<OpenSite> {
    this.opening ??= this.open();
    return this.opening;
  }

  async close(): Promise<void> {
    await (await this.opening?.catch(() => undefined))?.close();
  }

  private async open(): Promise<OpenSite> {
    const forget = () => {
      this.opening = undefined;
    };
    try {
      const open = await this.openSite();
      void open.ended.then(forget, forget);
      return open;
    } catch (error) {
      forget();
      throw error;
    }
  }
}

/**
 * Adds the window of live games below `/live/`. The game is opened when somebody looks at it, stands still while nobody does, and
 * ends with the server. Who is let in is decided by the hooks of `app`, for the socket too, which ends when `watch` misses its key.
 */
export async function mountLive(
  app: FastifyInstance,
  watch: KeyWatch,
  openSite: OpenLiveSite = () => openLiveSite(),
): Promise<void> {
  const game = new SharedGame(openSite);
  app.addHook("onClose", () => game.close());
  await app.register(websocket, { options: { maxPayload: MAX_MESSAGE_BYTES } });
  // The plugin ends sockets that its own hooks have seen; one that was refused before would keep the server from ending.
  app.addHook("onResponse", async ({ raw, headers }) => {
    if (headers.upgrade !== undefined) raw.socket.destroy();
  });
  const hidden = { schema: { hide: true } };
  app.get("/live", hidden, (_, reply) => reply.redirect("live/"));
  app.get("/live/", hidden, async (_, reply) => {
    const { site } = await game.get();
    return reply.headers(site.headers).type("text/html; charset=utf-8").send(site.page);
  });
  app.get<{ Params: { name: string } }>("/live/start/:name.png", hidden, async ({ params }, reply) => {
    const { site } = await game.get();
    const path = site.startPicture(params.name);
    if (path === undefined) throw new Problem(404, "not_found", "There is no such start state.");
    return reply.headers(site.headers).type("image/png").send(createReadStream(path));
  });
  // A route of its own context: the plugin sees routes that are added after it.
  await app.register(async (inner) => {
    const handler = async () => {
      throw new Problem(426, "upgrade_required", "This is a socket: call it by WebSocket.", undefined, {
        upgrade: "websocket",
      });
    };
    const wsHandler = async (socket: WebSocket, request: FastifyRequest) => {
      const unwatch = watch.watch(request.caller, () => socket.close(KEY_REMOVED, "key_removed"));
      socket.once("close", unwatch);
      const { site } = await game.get();
      // Whoever has gone meanwhile plays no game.
      if (socket.readyState === socket.OPEN) site.addPage(socket, request.raw);
    };
    inner.route({ method: "GET", url: "/live/socket", ...hidden, handler, wsHandler });
  });
}
