import type { FastifyInstance } from "fastify";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { hasEnded } from "../videos/record";
import type { Studio } from "./studio";

const MS = 1000;

/** Adds `GET /metrics` and counts what happens. clients: how many listen to events. */
export function addMetrics(app: FastifyInstance, { queue }: Studio, clients: () => number): void {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const registers = [register];
  const requests = new Histogram({
    ...{
      name: "vd_http_request_seconds",
      help: "Time to answer, by route.",
      labelNames: ["method", "route", "status"],
      registers,
    },
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
  });
  const ended = new Counter({
    name: "vd_videos_total",
    help: "Videos that have ended.",
    labelNames: ["status", "model"],
    registers,
  });
  const work = new Histogram({
    ...{ name: "vd_video_seconds", help: "From the start of the work to the end.", labelNames: ["model"], registers },
    buckets: [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600],
  });
  const waited = new Histogram({
    ...{
      name: "vd_queue_wait_seconds",
      help: "From the request to the start of the work.",
      labelNames: ["priority"],
      registers,
    },
    buckets: [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600],
  });
  const webhooks = new Counter({
    name: "vd_webhook_tries_total",
    help: "Tries to deliver webhooks, by what stands behind them: delivered, retrying, or failed for good.",
    labelNames: ["status"],
    registers,
  });
  new Gauge({
    name: "vd_event_clients",
    help: "Connections that listen to events.",
    registers,
    collect() {
      this.set(clients());
    },
  });
  new Gauge({
    ...{ name: "vd_videos", help: "Videos under way.", labelNames: ["status"], registers },
    async collect() {
      const { waiting, running } = await queue.counts();
      this.set({ status: "queued" }, waiting);
      this.set({ status: "in_progress" }, running);
    },
  });

  app.addHook("onResponse", async (request, reply) => {
    const route = request.routeOptions.url ?? "none";
    requests.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / MS);
  });
  queue.events.subscribe((event) => {
    if (event.type === "webhook") webhooks.inc({ status: event.webhook.status });
    if (event.type !== "status") return;
    const { video } = event;
    const { status, model, priority, startedAt, createdAt, completedAt } = video;
    if (status === "in_progress" && video.attempts === 1) waited.observe({ priority }, (startedAt! - createdAt) / MS);
    if (!hasEnded(video)) return;
    ended.inc({ status: video.error?.code === "cancelled" ? "cancelled" : status, model });
    if (status === "completed") work.observe({ model }, (completedAt! - startedAt!) / MS);
  });
  app.get("/metrics", { schema: { hide: true } }, async (_, reply) =>
    reply.header("content-type", register.contentType).send(await register.metrics()),
  );
}
