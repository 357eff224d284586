import { setImmediate as turn } from "node:timers/promises";
import type { VideoEvent } from "../videos/events";
import type { EventStream } from "./event-stream";
import { eventText, mayBeMissed, standText } from "./event-text";
import type { Studio } from "./studio";

/** For how long events are collected: hundreds of clients then get one piece instead of one for each event. */
const COLLECT_MS = 100;
/** Clients that are served in one go; calls that have come meanwhile are answered before the next ones. */
const GO = 50;
/** Videos of each status that a new client is told of. */
const MAX_ON_CONNECT = 100;

/** Whose videos somebody hears of; undefined for everybody's. */
type Owner = string | undefined;

/** What is sent to all clients of one owner: everything, and the part that nobody may miss. */
interface Piece {
  whole: Uint8Array;
  needed: Uint8Array;
}

interface Written {
  owner: string;
  text: string;
  isNeeded: boolean;
}

const ownerOf = (event: VideoEvent): string => (event.type === "status" ? event.video.owner : event.owner);

/** Hands the events of all videos to all clients: collected for a moment, and written once for clients that hear the same. */
export class EventFanout {
  private readonly clients = new Map<EventStream, Owner>();
  private readonly stands = new Map<Owner, Promise<string>>();
  /** By a name under which a later event takes the place of an earlier one. */
  private pending = new Map<string, VideoEvent>();
  private timer: NodeJS.Timeout | undefined;
  private numEvents = 0;

  constructor(private readonly studio: Studio) {
    studio.queue.events.subscribe((event) => {
      if (this.clients.size > 0) this.note(event);
    });
  }

  /** Tells a client how all videos of an owner stand, and of everything that happens from then on. */
  add(client: EventStream, owner: Owner): void {
    // Before the look at how things stand, so that nothing between the two is missed.
    this.clients.set(client, owner);
    // What has happened since the last piece is in the next one, which this client gets too: one look does for all who come meanwhile.
    const stand = this.stands.get(owner) ?? this.standOf(owner);
    this.stands.set(owner, stand);
    client.send(stand);
  }

  remove(client: EventStream): void {
    this.clients.delete(client);
  }

  /** Sends what was collected; resolves when it is on its way to every client. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const events = [...this.pending.values()];
    this.pending = new Map();
    this.stands.clear();
    const all = await Promise.all(events.map((event) => this.write(event)));
    const pieces = new Map<Owner, Piece>();
    let numServed = 0;
    for (const [client, owner] of this.clients) {
      const piece = pieces.get(owner) ?? pieceOf(all, owner);
      pieces.set(owner, piece);
      const bytes = client.isBehind ? piece.needed : piece.whole;
      if (bytes.length > 0) client.send(bytes);
      if (++numServed % GO === 0) await turn();
    }
  }

  private note(event: VideoEvent): void {
    const name = mayBeMissed(event) && "id" in event ? `${event.type} ${event.id}` : String(this.numEvents++);
    // Behind all others, also where it takes the place of one.
    this.pending.delete(name);
    this.pending.set(name, event);
    this.timer ??= setTimeout(() => void this.flush().catch(() => {}), COLLECT_MS);
  }

  private async write(event: VideoEvent): Promise<Written> {
    return { owner: ownerOf(event), text: await eventText(event, this.studio), isNeeded: !mayBeMissed(event) };
  }

  private async standOf(owner: Owner): Promise<string> {
    const texts: string[] = [];
    for (const status of ["in_progress", "queued"] as const)
      for (const video of await this.studio.queue.list({ owner, status, order: "asc", limit: MAX_ON_CONNECT }))
        texts.push(await standText(video, this.studio));
    return texts.join("");
  }
}

function pieceOf(all: readonly Written[], owner: Owner): Piece {
  const own = all.filter((each) => owner === undefined || each.owner === owner);
  const join = (some: readonly Written[]) => Buffer.from(some.map(({ text }) => text).join(""));
  return { whole: join(own), needed: join(own.filter(({ isNeeded }) => isNeeded)) };
}
