import { join } from "node:path";
import { FolderFiles } from "../files/folder-files";
import type { FetchRules } from "../inputs/safe-fetch";
import { SqliteKeys } from "../keys/sqlite-keys";
import { lockFolder, makeDataFolder, openDatabase } from "../queue/database";
import { LocalQueue } from "../queue/local-queue";
import { VideoTable } from "../queue/video-table";
import { hasEnded } from "../videos/record";
import { WebhookSender } from "../webhooks/webhook-sender";
import { placeOf } from "../workers/models";
import type { BackendContext, StudioBackend } from "./backend";

/** Folder of the videos in the data folder. */
export const VIDEOS = "videos";

/** Opens the queue of one machine: everything is in the data folder. @throws VdError `io` where another server has it */
export async function openLocalBackend(context: BackendContext & { rules: FetchRules }): Promise<StudioBackend> {
  const { folder, workers, places, rules, retryMs, remoteFiles } = context;
  await makeDataFolder(folder);
  const unlock = lockFolder(folder);
  const database = openDatabase(folder);
  const keys = new SqliteKeys(database);
  const table = new VideoTable(database);
  const sender = new WebhookSender(database, { table, keys, rules, ...(retryMs && { retryMs }) });
  const files = remoteFiles ?? new FolderFiles(join(folder, VIDEOS));
  const standing = (id: string) => {
    const video = table.get(id);
    return video ? (hasEnded(video) ? "ended" : "open") : "unknown";
  };
  if (files instanceof FolderFiles) await files.tidyAll(standing);
  const modelOf = (id: string) => placeOf(places, id);
  const queue = await LocalQueue.open({ table, files, workers, modelOf, onEnd: (video) => sender.note(video) });
  sender.tell(queue.events);
  return {
    ...{ queue, files, keys },
    close: async () => {
      sender.stop();
      database.close();
      unlock();
    },
  };
}
