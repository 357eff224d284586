import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { hasEnded } from "../videos/record";
import { ownerFilter } from "./access";
import { EventFanout } from "./event-fanout";
import { EventStream } from "./event-stream";
import { closedText, eventText, mayBeMissed, standText } from "./event-text";
import type { KeyWatch } from "./key-watch";
import { SCHEMAS } from "./schemas";
import type { Studio } from "./studio";
import { videoOf } from "./video-routes";

/** Adds the events of one video and of all. Returns what ends all connections and counts them. */
export function addEventRoutes(
  app: FastifyInstance,
  studio: Studio,
  watch: KeyWatch,
): { endAll(): Promise<void>; count(): number } {
  const { queue } = studio;
  const fanout = new EventFanout(studio);
  const streams = new Set<EventStream>();

  const open = (
    { caller }: FastifyRequest,
    reply: FastifyReply,
    onClose: (stream: EventStream) => void,
  ): EventStream => {
    reply.hijack();
    const stream: EventStream = new EventStream(reply.raw, () => {
      unwatch();
      streams.delete(stream);
      onClose(stream);
    });
    const unwatch = watch.watch(caller, () => {
      onClose(stream);
      stream.end(closedText("key_removed"));
    });
    streams.add(stream);
    return stream;
  };

  app.get<{ Params: { id: string } }>("/v1/videos/:id/events", { schema: SCHEMAS.events }, async (request, reply) => {
    const first = await videoOf(request, studio);
    let stop = () => {};
    const stream = open(request, reply, () => stop());
    stop = queue.events.subscribe((event) => {
      if (!mayBeMissed(event) || !stream.isBehind) stream.send(eventText(event, studio));
      if (event.type === "deleted" || (event.type === "status" && hasEnded(event.video))) stream.end();
    }, first.id);
    // What happened between the look and the listening is not missed.
    const video = (await queue.get(first.id)) ?? first;
    stream.send(standText(video, studio));
    if (hasEnded(video)) stream.end();
  });

  app.get("/v1/events", { schema: SCHEMAS.allEvents }, async (request, reply) => {
    fanout.add(
      open(request, reply, (stream) => fanout.remove(stream)),
      ownerFilter(request.caller),
    );
  });

  return {
    endAll: async () => {
      await fanout.flush();
      for (const stream of streams) stream.end(closedText("draining"));
    },
    count: () => streams.size,
  };
}
