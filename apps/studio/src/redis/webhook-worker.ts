import { type Job, type JobsOptions, Worker } from "bullmq";
import type { Redis } from "ioredis";
import { type SendContext, sendOnce } from "../webhooks/send";
import { type Delivery, RETRY_MS, videoIdOf } from "../webhooks/webhook";
import { QUEUES } from "./connection";
import type { RedisQueue } from "./redis-queue";

const DAY_S = 24 * 60 * 60;

/** How messages are kept: an ended one stays for a day, so that a second one of the same id is none. */
export const WEBHOOK_JOB: JobsOptions = {
  attempts: RETRY_MS.length + 1,
  backoff: { type: "custom" },
  removeOnComplete: { age: DAY_S },
  removeOnFail: { age: DAY_S },
};

/** Sends the messages of all servers, and notes in the videos how far they have come. */
export function startWebhookWorker(
  redis: Redis,
  queue: RedisQueue,
  context: SendContext,
  retryMs: readonly number[] = RETRY_MS,
): Worker {
  const send = async ({ data, attemptsMade, opts }: Job<Delivery>) => {
    const isLast = attemptsMade + 1 >= (opts.attempts ?? 1);
    const webhook = await sendOnce({ ...data, attempts: attemptsMade }, isLast, context);
    const video = await queue.videos.setWebhook(videoIdOf(data), webhook);
    if (video) await queue.tell({ type: "webhook", id: video.id, owner: video.owner, webhook });
    if (webhook.status === "retrying") throw new Error(webhook.lastError!);
  };
  const settings = { backoffStrategy: (tries: number) => retryMs[tries - 1] ?? retryMs.at(-1)! };
  const worker = new Worker(QUEUES.webhooks, send, { connection: redis, concurrency: 8, settings });
  worker.on("error", () => {});
  return worker;
}
