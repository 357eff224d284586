import type { ServerResponse } from "node:http";

/** Servers between here and there close connections that are silent for half a minute. */
const BEAT_MS = 15_000;
/** Bytes that may wait for a client: statuses are never left out, so one that reads none is let go, and may connect again. */
const MAX_WAITING_BYTES = 2 ** 20;

/** One client that listens to events. One that does not read is let go: memory does not grow. */
export class EventStream {
  private readonly beat: NodeJS.Timeout;
  private queue = Promise.resolve();
  private isClosed = false;

  constructor(
    private readonly response: ServerResponse,
    onClose: () => void,
  ) {
    // The connection ends with the events, so nothing needs to say where each of them ends.
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, {
      ...{ "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", connection: "close" },
      // Servers in front of this one do not wait for more.
      "x-accel-buffering": "no",
    });
    response.write("retry: 2000\n\n");
    this.beat = setInterval(() => this.write(": \n\n"), BEAT_MS);
    response.on("error", () => {});
    response.on("close", () => {
      this.isClosed = true;
      clearInterval(this.beat);
      onClose();
    });
  }

  /** True for a client that has not read what it was sent. */
  get isBehind(): boolean {
    return this.response.writableNeedDrain;
  }

  /** Sends what comes behind what was sent before. */
  send(text: Promise<string> | string | Uint8Array): void {
    this.queue = this.queue.then(async () =>
      this.write(typeof text === "object" && "then" in text ? await text : text),
    );
    this.queue.catch(() => this.end());
  }

  /** Ends the connection behind what was sent. last: sent before that. */
  end(last?: string): void {
    this.queue = this.queue
      .catch(() => {})
      .then(() => {
        if (last !== undefined) this.write(last);
        this.response.end();
      });
  }

  private write(bytes: string | Uint8Array): void {
    if (this.isClosed || this.response.writableEnded) return;
    if (this.response.writableLength > MAX_WAITING_BYTES) this.response.destroy();
    else this.response.write(bytes);
  }
}
