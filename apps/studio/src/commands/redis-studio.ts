import { join } from "node:path";
import { FolderFiles } from "../files/folder-files";
import type { KeyStore } from "../keys/key-store";
import { connectRedis } from "../redis/connection";
import { RedisKeys } from "../redis/redis-keys";
import { RedisQueue } from "../redis/redis-queue";
import { VideoWorker } from "../redis/video-worker";
import { startWebhookWorker } from "../redis/webhook-worker";
import { placeOf } from "../workers/models";
import type { BackendContext, StudioBackend } from "./backend";
import { VIDEOS } from "./local-studio";

/** Opens the queue on Redis, and works for it with the workers that there are. @throws VdError `io` where Redis does not answer */
export async function openRedisBackend(url: string, context: BackendContext): Promise<StudioBackend> {
  const { folder, workers, places, rules, retryMs, remoteFiles, stalledMs } = context;
  const redis = await connectRedis(url);
  const files = remoteFiles ?? new FolderFiles(join(folder, VIDEOS));
  const keys = new RedisKeys(redis);
  const queue = await new RedisQueue(redis, files).open();
  const webhooks = rules && startWebhookWorker(redis, queue, { keys, rules }, retryMs);
  const modelOf = (id: string) => placeOf(places, id);
  if (workers.length > 0) queue.workHere(new VideoWorker({ redis, queue, files, workers, modelOf, stalledMs }));
  return {
    ...{ queue, files, keys, rateStore: redis },
    close: async () => {
      await webhooks?.close(true);
      await queue.close();
      redis.disconnect();
    },
  };
}

/** Opens the keys on Redis for as long as `use` takes. */
export async function withRedisKeys<T>(url: string, use: (keys: KeyStore) => Promise<T>): Promise<T> {
  const redis = await connectRedis(url);
  try {
    return await use(new RedisKeys(redis));
  } finally {
    redis.disconnect();
  }
}
