import { context, propagation, trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import Fastify from "fastify";
import { afterAll, beforeAll, expect, it } from "vitest";
import { traceRequests, traceVideos } from "../src/http/tracing";
import { VideoEvents } from "../src/videos/events";
import type { VideoRecord } from "../src/videos/record";

const exporter = new InMemorySpanExporter();
beforeAll(() => {
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  propagation.setGlobalPropagator({
    inject: () => {},
    extract: (parent, headers: Record<string, string>) => {
      const [, traceId, spanId] = (headers.traceparent ?? "").split("-");
      return traceId
        ? trace.setSpanContext(parent, { traceId, spanId: spanId!, traceFlags: 1, isRemote: true })
        : parent;
    },
    fields: () => ["traceparent"],
  });
});
afterAll(() => {
  trace.disable();
  propagation.disable();
  context.disable();
});

it("makes a span of a call, below the caller's", async () => {
  const app = Fastify();
  traceRequests(app);
  app.get("/v1/videos/:id", async () => ({}));
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  await app.inject({ url: "/v1/videos/video_1", headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } });
  // The hook behind the answer has run.
  await app.close();
  const [span] = exporter.getFinishedSpans();
  expect(span!.name).toBe("GET /v1/videos/:id");
  expect(span!.spanContext().traceId).toBe(traceId);
  expect(span!.attributes).toMatchObject({ "http.route": "/v1/videos/:id", "http.response.status_code": 200 });
});

it("makes a span of a video, with its error", () => {
  exporter.reset();
  const events = new VideoEvents();
  traceVideos(events);
  const settings = { width: 32, height: 32, numFrames: 2 };
  const video = {
    id: "video_1",
    model: "m",
    attempts: 1,
    settings,
    status: "in_progress",
    error: null,
  } as unknown as VideoRecord;
  events.publish({ type: "status", video });
  expect(exporter.getFinishedSpans()).toEqual([]);
  events.publish({
    type: "status",
    video: { ...video, status: "failed", error: { code: "io", message: "no picture" } },
  });
  const [span] = exporter.getFinishedSpans();
  expect(span).toMatchObject({
    name: "video",
    status: { code: 2, message: "no picture" },
    attributes: { "vd.frames": 2 },
  });
});
