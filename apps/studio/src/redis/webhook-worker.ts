import { type JobsOptions, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { FetchRules } from "../inputs/safe-fetch";
import type { KeyStore } from "../keys/key-store";
import { type Delivery, RETRY_MS } from "../webhooks/webhook";
import { sendOnce } from "../webhooks/webhook-sender";
import { QUEUES } from "./connection";

const DAY_S = 24 * 60 * 60;

/** How messages are kept: an ended one stays for a day, so that a second one of the same id is none. */
export const WEBHOOK_JOB: JobsOptions = {
  attempts: RETRY_MS.length + 1,
  backoff: { type: "custom" },
  removeOnComplete: { age: DAY_S },
  removeOnFail: { age: DAY_S },
};

/** Sends the messages of all servers. */
export function startWebhookWorker(
  redis: Redis,
  keys: KeyStore,
  rules: FetchRules,
  retryMs: readonly number[] = RETRY_MS,
): Worker {
  const send = async ({ data }: { data: Delivery }) => {
    if (!(await sendOnce(data, keys, rules))) throw new Error("The receiver did not take the message.");
  };
  const settings = { backoffStrategy: (tries: number) => retryMs[tries - 1] ?? retryMs.at(-1)! };
  const worker = new Worker(QUEUES.webhooks, send, { connection: redis, concurrency: 8, settings });
  worker.on("error", () => {});
  return worker;
}
