import { VdError } from "@vd/kernels-native";
import { Redis } from "ioredis";

/** Names of what is kept in Redis. */
export const NAMES = {
  video: (id: string) => `vd:video:${id}`,
  /** All videos, and those of an owner, by id. */
  all: "vd:all",
  ofOwner: (owner: string) => `vd:owner:${owner}`,
  ofStatus: (status: string) => `vd:status:${status}`,
  /** Videos of an owner that have not ended. */
  active: (owner: string) => `vd:active:${owner}`,
  /** Videos that wait, by their order. */
  waiting: "vd:waiting",
  /** The turn that is served by priority, and the last one of each owner. */
  served: "vd:served",
  lastTurns: "vd:turns",
  call: (owner: string, key: string) => `vd:call:${owner}:${key}`,
  keys: "vd:keys",
  keyHashes: "vd:key-hashes",
  /** Channels. */
  events: "vd:events",
  cancels: "vd:cancels",
} as const;

/** Names of the queues of BullMQ. */
export const QUEUES = { videos: "vd-videos", webhooks: "vd-webhooks" } as const;

const FIRST_ANSWER_MS = 5000;

/**
 * Connects to Redis; later breaks are mended by the client itself.
 *
 * @throws VdError `io` where it does not answer at first
 */
export async function connectRedis(url: string): Promise<Redis> {
  // BullMQ asks for null: a command waits for the connection instead of failing.
  const redis = new Redis(url, { maxRetriesPerRequest: null, lazyConnect: true, connectTimeout: FIRST_ANSWER_MS });
  redis.on("error", () => {});
  try {
    await redis.connect();
    return redis;
  } catch (cause) {
    redis.disconnect();
    const got = `${url.replace(/\/\/[^@]*@/, "//")}: ${(cause as Error).message}`;
    const hint = "Start it, or check the address.";
    throw new VdError({ code: "io", where: "--redis", expected: "a Redis that answers", got, hint, cause });
  }
}
