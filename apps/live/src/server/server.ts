import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { isLoopback, networkAddresses } from "@vd/app-parts";
import { VdError } from "@vd/kernels-native";
import { systemCode } from "@vd/tensor";
import { WebSocketServer } from "ws";
import type { Game } from "../game/game";
import { refusalOf, urlOf } from "./guard";
import type { PageOptions } from "./page-socket";
import { LiveSite, MAX_MESSAGE_BYTES } from "./site";

/** How a game is served. */
export interface ServeOptions extends PageOptions {
  /** Address to listen at; anything but this machine's own makes a token. */
  host: string;
  /** 0 for a free one; undefined for {@link USUAL_PORT}, or a free one where that is taken. */
  port: number | undefined;
  /** The page, HTML. */
  page: string;
}

/** Where the page is, if nothing is said and nobody else is there. */
export const USUAL_PORT = 8484;

/** Where the picture of a start state is: `/start/meadow-morning.png`. */
const START_PATH = /^\/start\/([\w-]+)\.png$/;

const FORBIDDEN = 403;
const NOT_FOUND = 404;

/** True for the addresses that stand for all of this machine's. */
const isEverywhere = (host: string) => host === "0.0.0.0" || host === "::";

/** A game on the network: the page, and a WebSocket for each page that is open. */
export class LiveServer {
  private readonly sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES });
  private readonly site: LiveSite;
  private readonly token: string | undefined;

  private constructor(
    game: Game,
    private readonly options: ServeOptions,
    private readonly http: Server,
  ) {
    this.site = new LiveSite(game, { ...options, frameAncestors: "'none'" });
    this.token = isLoopback(options.host) ? undefined : randomBytes(16).toString("hex");
    http.on("request", (request, response) => this.answer(request, response));
    http.on("upgrade", (request, socket, head) => this.upgrade(request, socket as Socket, head));
  }

  /**
   * Serves a game until {@link close}.
   *
   * @throws VdError `io` where the port is taken or the address is not this machine's
   */
  static async start(game: Game, options: ServeOptions): Promise<LiveServer> {
    const http = createServer();
    const server = new LiveServer(game, options, http);
    await listen(http, options);
    return server;
  }

  private get port(): number {
    return (this.http.address() as AddressInfo).port;
  }

  /** The address of the page, with the token where there is one. */
  get url(): string {
    const { host } = this.options;
    return this.urlAt(isEverywhere(host) ? "localhost" : host);
  }

  /** What other machines of the network open in its place; none where the address that was typed is the only one. */
  get networkUrls(): string[] {
    return isEverywhere(this.options.host) ? networkAddresses().map((address) => this.urlAt(address)) : [];
  }

  private urlAt(name: string): string {
    const host = name.includes(":") ? `[${name}]` : name;
    return `http://${host}:${this.port}/${this.token === undefined ? "" : `?token=${this.token}`}`;
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    this.site.close();
    for (const socket of this.sockets.clients) socket.terminate();
    this.sockets.close();
    this.http.closeAllConnections();
    await new Promise<void>((resolve) => this.http.close(() => resolve()));
  }

  private refusal(request: IncomingMessage): string | undefined {
    return refusalOf(request, { port: this.port, token: this.token });
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const refusal = this.refusal(request);
    const { pathname } = urlOf(request);
    const start = START_PATH.exec(pathname)?.[1];
    const picture = start === undefined ? undefined : this.site.startPicture(start);
    const reads = request.method === "GET" || request.method === "HEAD";
    if (refusal !== undefined) this.sayNo(response, FORBIDDEN, refusal);
    else if (reads && picture !== undefined) this.sendPicture(response, picture);
    else if (reads && pathname === "/") this.sendPage(response);
    else this.sayNo(response, NOT_FOUND, "There is nothing here but the page.");
  }

  private sendPage(response: ServerResponse): void {
    response.writeHead(200, { ...this.site.headers, "content-type": "text/html; charset=utf-8" }).end(this.site.page);
  }

  private sayNo(response: ServerResponse, status: number, sentence: string): void {
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(`${sentence}\n`);
  }

  private sendPicture(response: ServerResponse, path: string): void {
    const file = createReadStream(path);
    file.on("error", () => this.sayNo(response, NOT_FOUND, "This picture cannot be read."));
    file.on("open", () => {
      response.writeHead(200, { ...this.site.headers, "content-type": "image/png" });
      file.pipe(response);
    });
  }

  private upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    // A connection that breaks off is no failure of the server's.
    socket.on("error", () => {});
    if (this.refusal(request) !== undefined || urlOf(request).pathname !== "/socket") {
      socket.end("HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    this.sockets.handleUpgrade(request, socket, head, (opened) => this.site.addPage(opened, request));
  }
}

async function listen(http: Server, { host, port }: ServeOptions): Promise<void> {
  try {
    await listenAt(http, host, port ?? USUAL_PORT);
  } catch (cause) {
    const code = systemCode(cause);
    if (code === "EADDRINUSE" && port === undefined) return listenAt(http, host, 0);
    if (code === "EADDRINUSE" || code === "EACCES") {
      const got = `port ${port}, which ${code === "EACCES" ? "needs more rights" : "is taken"}`;
      const hint = "Choose another one, or 0 for any.";
      throw new VdError({ code: "io", where: "--port", expected: "a port that is free", got, hint, cause });
    }
    if (code === undefined) throw cause;
    const expected = "an address of this machine";
    throw new VdError({ code: "io", where: "--host", expected, got: `"${host}" (${code})`, cause });
  }
}

function listenAt(http: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once("error", reject);
    http.listen({ host, port, exclusive: true }, () => {
      http.off("error", reject);
      resolve();
    });
  });
}
