import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { VideoEvent } from "../videos/events";
import { hasEnded, type VideoRecord } from "../videos/record";
import { mayAccess, ownerFilter } from "./access";
import { SCHEMAS } from "./schemas";
import type { Studio } from "./studio";
import { videoOf, viewNow } from "./video-routes";

/** Servers between here and there close connections that are silent for half a minute. */
const BEAT_MS = 15_000;
const MAX_ON_CONNECT = 100;

/** Events in the format of server-sent events, each written once for all who listen. */
class EventTexts {
  private last: { event: VideoEvent; text: Promise<string[]> } | undefined;

  constructor(private readonly studio: Studio) {}

  of(event: VideoEvent): Promise<string[]> {
    if (this.last?.event !== event) this.last = { event, text: this.write(event) };
    return this.last.text;
  }

  async statusOf(video: VideoRecord): Promise<string[]> {
    const view = await viewNow(video, this.studio);
    const status = written("status", view);
    if (!hasEnded(video)) return [status];
    return [status, written(video.status as "completed" | "failed", view)];
  }

  private async write(event: VideoEvent): Promise<string[]> {
    const { type } = event;
    if (type === "status") return this.statusOf(event.video);
    const { id } = event;
    if (type === "deleted") return [written(type, { id })];
    return [written(type, { id, ...(type === "progress" ? event.progress : event.preview) })];
  }
}

const written = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** Bytes that may wait for a client: statuses are never left out, so one that reads none is let go, and may connect again. */
const MAX_WAITING_BYTES = 2 ** 20;

/** One client. Whoever is slow misses progress and previews, never a status; whoever does not read is let go: memory does not grow. */
class EventStream {
  private readonly beat: NodeJS.Timeout;
  private queue = Promise.resolve();
  isClosed = false;

  constructor(
    private readonly response: ServerResponse,
    onClose: () => void,
  ) {
    response.writeHead(200, {
      ...{ "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", connection: "keep-alive" },
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

  /** Sends texts behind those before; `mayMiss` leaves them out where the client has not read the last ones. */
  send(texts: Promise<string[]>, mayMiss = false): void {
    if (mayMiss && this.response.writableNeedDrain) return;
    this.queue = this.queue.then(async () => {
      for (const text of await texts) this.write(text);
    });
    this.queue.catch(() => this.end());
  }

  /** Ends the connection behind what was sent. */
  end(): void {
    this.queue = this.queue.catch(() => {}).then(() => void this.response.end());
  }

  private write(text: string): void {
    if (this.isClosed || this.response.writableEnded) return;
    if (this.response.writableLength > MAX_WAITING_BYTES) this.response.destroy();
    else this.response.write(text);
  }
}

/** Adds the events of one video and of all. Returns what ends all connections and counts them. */
export function addEventRoutes(app: FastifyInstance, studio: Studio): { endAll(): void; count(): number } {
  const { queue } = studio;
  const texts = new EventTexts(studio);
  const streams = new Set<EventStream>();

  const open = (reply: FastifyReply, onClose: () => void): EventStream => {
    reply.hijack();
    const stream = new EventStream(reply.raw, () => {
      streams.delete(stream);
      onClose();
    });
    streams.add(stream);
    return stream;
  };

  const sendNow = (stream: EventStream, video: VideoRecord) => {
    stream.send(texts.statusOf(video));
    const { progress, preview } = queue.events.momentOf(video.id);
    const { id } = video;
    if (progress) stream.send(Promise.resolve([written("progress", { id, ...progress })]));
    if (preview) stream.send(Promise.resolve([written("preview", { id, ...preview })]));
  };

  app.get<{ Params: { id: string } }>("/v1/videos/:id/events", { schema: SCHEMAS.events }, async (request, reply) => {
    const first = await videoOf(request, studio);
    let stop = () => {};
    const stream = open(reply, () => stop());
    stop = queue.events.subscribe((event) => {
      stream.send(texts.of(event), event.type === "progress" || event.type === "preview");
      if (event.type === "deleted" || (event.type === "status" && hasEnded(event.video))) stream.end();
    }, first.id);
    // What happened between the look and the listening is not missed.
    const video = (await queue.get(first.id)) ?? first;
    sendNow(stream, video);
    if (hasEnded(video)) stream.end();
  });

  app.get("/v1/events", { schema: SCHEMAS.allEvents }, async (request: FastifyRequest, reply) => {
    const { caller } = request;
    let stop = () => {};
    const stream = open(reply, () => stop());
    stop = queue.events.subscribe((event) => {
      const owner = event.type === "status" ? event.video.owner : event.owner;
      if (mayAccess(caller, owner)) stream.send(texts.of(event), event.type === "progress" || event.type === "preview");
    });
    for (const status of ["in_progress", "queued"] as const) {
      const found = await queue.list({ owner: ownerFilter(caller), status, order: "asc", limit: MAX_ON_CONNECT });
      for (const video of found) sendNow(stream, video);
    }
  });

  return {
    endAll: () => {
      for (const stream of streams) stream.end();
    },
    count: () => streams.size,
  };
}
