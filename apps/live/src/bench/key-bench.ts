import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import type { LiveSessionOptions, LiveTimes } from "@vd/live";
import { WebSocket } from "ws";
import { Game, type OpenSession } from "../game/game";
import type { PageRequest } from "../protocol/control";
import { decodeFrame } from "../protocol/frame-message";
import { LiveServer } from "../server/server";
import { timesOf } from "./times";

/** Milliseconds between presses, so that they fall anywhere between two ticks. */
const PAUSES_MS = [61, 47, 83, 71, 53, 97];
/** A picture that does not come for so long will not come. */
const LONGEST_WAIT_MS = 10_000;

/** A page without a window: it holds keys and counts frames as drawn when they arrive. */
class BarePage {
  private count = 0;
  private numDrawn = 0;
  private waiting: { input: number; resolve: () => void } | undefined;

  constructor(private readonly socket: WebSocket) {
    socket.binaryType = "nodebuffer";
    socket.on("message", (data: Buffer, isBinary) => {
      const frame = isBinary ? decodeFrame(data) : undefined;
      if (!frame) return;
      this.ask({ type: "drawn", count: ++this.numDrawn });
      if (this.waiting !== undefined && frame.input >= this.waiting.input) this.waiting.resolve();
    });
  }

  private ask(request: PageRequest): void {
    this.socket.send(JSON.stringify(request));
  }

  /** Holds other keys; settles when a picture that was made with them is here. */
  async hold(held: string[], signal: AbortSignal): Promise<void> {
    const input = ++this.count;
    const seen = new Promise<void>((resolve) => {
      this.waiting = { input, resolve };
    });
    this.ask({ type: "keys", held, input });
    const ended = new AbortController();
    const late = setTimeout(LONGEST_WAIT_MS, undefined, { signal: AbortSignal.any([signal, ended.signal]) }).then(
      () => {
        throw new Error(`no picture with the key after ${LONGEST_WAIT_MS} ms`);
      },
    );
    await Promise.race([seen, late]).finally(() => ended.abort());
  }
}

/** Times the way of a key press over a WebSocket of this machine, through the running game, to the arrival of the first picture
 *  that was made with it. Stops at the signal. */
export async function benchKeys(
  openSession: OpenSession,
  options: LiveSessionOptions,
  presses: number,
  signal: AbortSignal,
): Promise<LiveTimes> {
  const game = await Game.open(openSession, { ...options, pace: "clock" });
  const server = await LiveServer.start(game, {
    ...{ host: "127.0.0.1", port: 0, page: "", picture: "rgb", camera: false },
  });
  const running = game.run();
  running.catch(() => {});
  const times: number[] = [];
  try {
    const socket = new WebSocket(`${server.url.replace("http:", "ws:")}socket`);
    const page = new BarePage(socket);
    await once(socket, "open", { signal });
    const [key] = Object.keys(game.model.keys);
    for (let i = 0; i < presses; i++) {
      await setTimeout(PAUSES_MS[i % PAUSES_MS.length]!, undefined, { signal });
      const startMs = performance.now();
      await Promise.race([page.hold(i % 2 === 0 ? [key!] : [], signal), running]);
      times.push(performance.now() - startMs);
    }
    return timesOf(times);
  } finally {
    await game.close();
    await server.close();
    await running;
  }
}
