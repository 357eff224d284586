import { VdError } from "@vd/kernels-native";
import { usualFolder } from "../environment";
import type { WorkerSettings } from "../options/settings";
import { makeWorkers, modelPlaces } from "../workers/models";
import type { WorkerProgram } from "../workers/worker-process";
import { openRedisBackend } from "./redis-studio";
import { remoteFilesOf } from "./serve";

/** A running worker. */
export interface RunningWorker {
  title: string;
  stop(): Promise<void>;
}

/** Starts a worker for the queue on Redis. @throws VdError */
export async function startWorker(settings: WorkerSettings, program: WorkerProgram): Promise<RunningWorker> {
  const workers = makeWorkers(settings, program);
  if (workers.length === 0)
    throw new VdError({ code: "attr", where: "--workers", expected: "at least one worker", got: "0" });
  const places = modelPlaces(settings);
  const stalledMs = settings.stalledSeconds * 1000;
  const folder = settings.data ?? usualFolder();
  const remoteFiles = await remoteFilesOf(settings, folder);
  const backend = await openRedisBackend(settings.redis, {
    folder,
    workers,
    places,
    rules: undefined,
    remoteFiles,
    stalledMs,
  });
  return {
    title: `${workers.length} process${workers.length > 1 ? "es" : ""}, ${places.map(({ id }) => id).join(", ")}`,
    stop: async () => {
      await backend.queue.drain(settings.drainSeconds * 1000);
      await Promise.all(workers.map((worker) => worker.stop()));
      await backend.close();
    },
  };
}
