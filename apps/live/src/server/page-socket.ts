import type { IncomingMessage } from "node:http";
import { isLoopback } from "@vd/app-parts";
import { isVdError } from "@vd/kernels-native";
import type { LiveFrame } from "@vd/live";
import type { RawData, WebSocket } from "ws";
import type { Game } from "../game/game";
import { InputTracker } from "../game/input-tracker";
import { type PageRequest, readRequest, type ServerNotice } from "../protocol/control";
import { decodePicture, HEADER_BYTES } from "../protocol/frame-message";
import { MAX_ON_THE_WAY, PageClient } from "./page-client";
import { type PictureChoice, pictureEncoder } from "./picture-format";

/** What a page's connection is told besides the game. */
export interface PageOptions {
  picture: PictureChoice;
  /** True if the page is to send its camera's pictures from the start. */
  camera: boolean;
}

const STATS_EVERY_MS = 1000;
/** Bytes of notices that may wait in a connection, besides frames; a page behind more gets no statistics. */
const MAX_WAITING_BYTES = 2 ** 20;
const CHANNELS = 3;

const bytesOf = (data: RawData): Uint8Array =>
  Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? new Uint8Array(data) : data;

/** Serves one page: frames and notices to it, keys and pictures from it, until it leaves. */
export class PageSocket {
  private readonly inputs = new InputTracker();
  private readonly client: PageClient;
  private readonly stops: (() => void)[];
  /** Bytes that may wait in the connection. */
  private readonly maxWaitingBytes: number;

  constructor(
    private readonly socket: WebSocket,
    request: IncomingMessage,
    private readonly game: Game,
    options: PageOptions,
  ) {
    const { model } = game;
    const isLocal = isLoopback((request.socket.remoteAddress ?? "").replace(/^::ffff:/, ""));
    const frameBytes = CHANNELS * model.width * model.height;
    this.maxWaitingBytes = MAX_WAITING_BYTES + MAX_ON_THE_WAY * (frameBytes + HEADER_BYTES);
    const encode = pictureEncoder(options.picture, isLocal, frameBytes * model.fps);
    const send = (message: Uint8Array | string) => this.send(message);
    this.client = new PageClient({ send }, this.inputs, model.actions, encode, (error) => this.tellError(error));
    this.tell({ type: "hello", model, state: game.state, camera: options.camera });
    const timer = setInterval(() => this.tellStats(), STATS_EVERY_MS);
    this.stops = [
      game.onState(() => this.tell({ type: "state", state: game.state })),
      game.watch(),
      () => clearInterval(timer),
      () => game.hold(this, []),
    ];
    socket.on("message", (data, isBinary) => this.take(bytesOf(data), isBinary));
    socket.on("close", () => this.stop());
    // The close that follows says all that matters.
    socket.on("error", () => {});
  }

  /** Takes a frame; `data` must not change afterwards. */
  offer(frame: LiveFrame, data: Uint8Array): void {
    this.client.offer(frame, data);
  }

  private stop(): void {
    for (const stop of this.stops.splice(0)) stop();
  }

  private send(message: Uint8Array | string): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    // It says that it has drawn what it has not read, or asks and never listens: it comes back if it is a page.
    if (this.socket.bufferedAmount > this.maxWaitingBytes) this.socket.terminate();
    else this.socket.send(message);
  }

  private tell(notice: ServerNotice): void {
    this.send(JSON.stringify(notice));
  }

  private tellError(error: unknown): void {
    this.tell({ type: "error", message: isVdError(error) ? error.message : String(error) });
  }

  private tellStats(): void {
    if (this.socket.bufferedAmount < MAX_WAITING_BYTES) this.tell({ type: "stats", stats: this.game.stats() });
  }

  private take(bytes: Uint8Array, isBinary: boolean): void {
    this.answer(bytes, isBinary).catch((error: unknown) => this.tellError(error));
  }

  private async answer(bytes: Uint8Array, isBinary: boolean): Promise<void> {
    if (isBinary) return this.takePicture(bytes);
    const request = readRequest(Buffer.from(bytes).toString());
    if (request === undefined) this.tell({ type: "error", message: "The server did not understand the page." });
    else await this.do(request);
  }

  private takePicture(bytes: Uint8Array): void {
    const picture = decodePicture(bytes);
    if (picture !== undefined && picture.format !== "jpeg") this.game.push(picture);
    else this.tell({ type: "error", message: "The server did not understand the camera's picture." });
  }

  private async do(request: PageRequest): Promise<void> {
    const { game } = this;
    switch (request.type) {
      case "keys":
        return this.inputs.press(request.input, game.hold(this, request.held));
      case "drawn":
        return this.client.drawn(request.count);
      case "pause":
        return game.pause();
      case "resume":
        return game.resume();
      case "steps":
        return game.setSteps(request.steps);
      case "recover":
        return game.setRecover(request.on);
      case "words":
        return game.setWords(request);
      case "start":
        return game.start(request.name, request.seed);
      case "keep":
        return game.keep();
      case "back":
        return game.back();
    }
  }
}
