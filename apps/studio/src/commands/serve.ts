import type { LookupFunction } from "node:net";
import { join } from "node:path";
import { isLoopback, LOCAL_NAMES } from "@vd/app-parts";
import { VdError } from "@vd/kernels-native";
import { systemCode } from "@vd/tensor";
import { usualFolder } from "../environment";
import { makeServer, type Patience } from "../http/server";
import type { Studio } from "../http/studio";
import type { FetchRules } from "../inputs/safe-fetch";
import type { KeyStore } from "../keys/key-store";
import type { OpenLiveSite } from "../live-mount";
import type { ServeSettings } from "../options/settings";
import { bytesOfMib } from "../options/tables";
import { LOCAL_OWNER } from "../videos/record";
import { makeWorkers, modelPlaces, offeredModels } from "../workers/models";
import { WorkerProcess, type WorkerProgram } from "../workers/worker-process";
import type { BackendContext, StudioBackend } from "./backend";
import { openLocalBackend } from "./local-studio";

/** What the server needs from outside. */
export interface ServeContext {
  program: WorkerProgram;
  /** Folder of the built page; undefined for none. */
  page: string | undefined;
  /** What opens the live game in the page; default the one of vd-live. */
  openLive?: OpenLiveSite | undefined;
  version: string;
  log(text: string): void;
  /** Waiting times of webhooks, for tests. */
  retryMs?: readonly number[] | undefined;
  /** Finds the addresses of names that clients send, for tests; default the system's. */
  lookup?: LookupFunction | undefined;
  /** How long clients may take, for tests. */
  patience?: (Patience & { lastMs: number }) | undefined;
}

/** A running server. */
export interface RunningStudio {
  url: string;
  port: number;
  /** Takes no more work, waits for what runs, and ends. */
  stop(): Promise<void>;
}

/** A server of somebody's pictures or webhooks may take so long. */
const FETCH_TIMEOUT_MS = 20_000;

/** How long calls that are under way may take when the server ends, in ms. */
const LAST_MS = 5000;

/** Starts the server. @throws VdError */
export async function startStudio(settings: ServeSettings, context: ServeContext): Promise<RunningStudio> {
  const folder = settings.data ?? usualFolder();
  const maxBodyBytes = bytesOfMib(settings.maxBody);
  const rules: FetchRules = {
    allowPrivate: settings.allowPrivate,
    maxBytes: maxBodyBytes,
    timeoutMs: FETCH_TIMEOUT_MS,
    lookup: context.lookup,
  };
  const program = { ...context.program, log: context.log };
  const workers = makeWorkers(settings, program);
  const estimator = new WorkerProcess(program);
  const places = modelPlaces(settings);
  const stopWorkers = () => Promise.all([...workers, estimator].map((worker) => worker.stop()));
  let backend: StudioBackend | undefined;
  try {
    const models = await offeredModels(places, estimator);
    const { retryMs } = context;
    backend = await openBackend(settings, {
      folder,
      workers,
      places,
      rules,
      retryMs,
      stalledMs: settings.stalledSeconds * 1000,
      remoteFiles: await remoteFilesOf(settings, folder),
    });
    const access = await accessOf(settings, backend.keys);
    const { page, version, openLive } = context;
    const studio: Studio = {
      ...backend,
      models,
      estimator,
      access,
      fetchRules: rules,
      maxBodyBytes,
      page,
      openLive,
      version,
    };
    return await listen(studio, settings, context, backend, stopWorkers);
  } catch (error) {
    // What an earlier server had queued may be under way already.
    await backend?.queue.drain(0);
    await stopWorkers();
    await backend?.close();
    throw error;
  }
}

/** Opens the storage of pictures and videos that is no folder; undefined for a folder. */
export async function remoteFilesOf(
  { s3 }: Pick<ServeSettings, "s3">,
  folder: string,
): Promise<BackendContext["remoteFiles"]> {
  if (s3 === undefined) return undefined;
  return (await import("../files/s3-files")).openS3Files(s3, join(folder, "work"));
}

async function openBackend(
  settings: ServeSettings,
  parts: BackendContext & { rules: FetchRules },
): Promise<StudioBackend> {
  if (settings.redis === undefined) return openLocalBackend(parts);
  return (await import("./redis-studio")).openRedisBackend(settings.redis, parts);
}

async function accessOf({ host, allowHost }: ServeSettings, keys: KeyStore): Promise<Studio["access"]> {
  const further = allowHost?.split(",").map((name) => name.trim().toLowerCase()) ?? [];
  const requireKey = !isLoopback(host) || further.length > 0;
  const known = requireKey ? (await keys.list()).filter(({ id }) => id !== LOCAL_OWNER) : [];
  if (requireKey && known.length === 0)
    throw new VdError({
      ...{ code: "attr", where: "--host", expected: "a key before others can reach this server", got: "none" },
      hint: "Make one first: vd-studio keys add NAME",
    });
  return { requireKey, hosts: [...LOCAL_NAMES, ...further] };
}

async function listen(
  studio: Studio,
  { host, port, drainSeconds }: ServeSettings,
  { log, patience }: ServeContext,
  backend: StudioBackend,
  stopWorkers: () => Promise<unknown>,
): Promise<RunningStudio> {
  const { app, endEvents } = await makeServer(studio, log, patience);
  try {
    await app.listen({ host, port });
  } catch (cause) {
    const code = systemCode(cause);
    if (code !== "EADDRINUSE" && code !== "EACCES" && code !== "EADDRNOTAVAIL" && code !== "ENOTFOUND") throw cause;
    const got = `${host}:${port} (${code})`;
    throw new VdError({
      code: "io",
      where: "--port",
      expected: "an address and a port that are free",
      got,
      hint: "Choose another one, or 0 for any.",
      cause,
    });
  }
  const address = app.server.address() as { port: number };
  const name = host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host;
  return {
    ...{ port: address.port, url: `http://${name}:${address.port}/` },
    stop: async () => {
      // While videos are finished, clients may still read and listen; new ones are refused by `isReady`.
      await studio.queue.drain(drainSeconds * 1000);
      await endEvents();
      // Whoever sends or reads on is cut off then: a client must not keep the server.
      const cut = setTimeout(() => app.server.closeAllConnections(), patience?.lastMs ?? LAST_MS);
      await app.close();
      clearTimeout(cut);
      await stopWorkers();
      await backend.close();
    },
  };
}
