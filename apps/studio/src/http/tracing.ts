import { context, propagation, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { VideoEvents } from "../videos/events";
import { hasEnded } from "../videos/record";

const NAME = "@vd/studio";

/** Adds a span for each request, below the caller's by its `traceparent`. Without an SDK in the process it costs nothing. */
export function traceRequests(app: FastifyInstance): void {
  const spans = new WeakMap<FastifyRequest, Span>();
  app.addHook("onRequest", async (request) => {
    const route = request.routeOptions.url ?? "none";
    const parent = propagation.extract(context.active(), request.headers);
    const attributes = { "http.request.method": request.method, "http.route": route };
    const options = { kind: SpanKind.SERVER, attributes };
    spans.set(request, trace.getTracer(NAME).startSpan(`${request.method} ${route}`, options, parent));
  });
  app.addHook("onResponse", async (request, reply) => {
    const span = spans.get(request);
    span?.setAttribute("http.response.status_code", reply.statusCode);
    if (reply.statusCode >= 500) span?.setStatus({ code: SpanStatusCode.ERROR });
    span?.end();
  });
}

/** Adds a span for each video, from the start of its work to its end. */
export function traceVideos(events: VideoEvents): void {
  const spans = new Map<string, Span>();
  events.subscribe((event) => {
    if (event.type !== "status") return;
    const { video } = event;
    const { id, model, status, settings, attempts } = video;
    if (status === "in_progress" && !spans.has(id)) {
      const { width, height, numFrames } = settings;
      const attributes = {
        "vd.video.id": id,
        "vd.model": model,
        "vd.width": width,
        "vd.height": height,
        "vd.frames": numFrames,
      };
      spans.set(
        id,
        trace.getTracer(NAME).startSpan("video", { attributes: { ...attributes, "vd.attempt": attempts } }),
      );
    }
    if (!hasEnded(video)) return;
    const span = spans.get(id);
    spans.delete(id);
    if (video.error) span?.setStatus({ code: SpanStatusCode.ERROR, message: video.error.message });
    span?.end();
  });
}
