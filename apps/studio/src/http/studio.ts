import type { GenerateDefaults } from "@vd/svd-pipeline";
import type { Redis } from "ioredis";
import type { VideoFiles } from "../files/video-files";
import type { FetchRules } from "../inputs/safe-fetch";
import type { KeyStore } from "../keys/key-store";
import type { OpenLiveSite } from "../live-mount";
import type { VideoQueue } from "../queue/video-queue";
import type { ModelPlace } from "../workers/messages";
import type { WorkerProcess } from "../workers/worker-process";
import type { AccessRules } from "./access";
import { Problem } from "./problem";

/** A model that this server offers. */
export interface OfferedModel {
  place: ModelPlace;
  title: string;
  ownedBy: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  defaults: GenerateDefaults;
}

/** Everything that the API answers with. */
export interface Studio {
  queue: VideoQueue;
  files: VideoFiles;
  keys: KeyStore;
  /** The first one is the default. */
  models: readonly OfferedModel[];
  /** Says what videos would take, beside those that make them. */
  estimator: Pick<WorkerProcess, "estimate">;
  access: AccessRules;
  /** How pictures and webhooks of clients are called. */
  fetchRules: FetchRules;
  /** Of a request, pictures in it included. */
  maxBodyBytes: number;
  /** Folder of the built page; undefined for none. */
  page: string | undefined;
  /** What opens the live game in the page; default the one of vd-live. */
  openLive?: OpenLiveSite | undefined;
  version: string;
  /** The Redis that counts calls by key, for all servers that share it; undefined for a count in this process. */
  rateStore?: Redis | undefined;
}

/** Says which models there are, for whoever asked for another one. */
export const offeredNames = (models: readonly OfferedModel[]): string =>
  `It offers ${models.map(({ place }) => place.id).join(", ")}.`;

/** Finds a model by the id that a client gave. @throws Problem */
export function modelOf(models: readonly OfferedModel[], id: unknown): OfferedModel {
  const found = id === undefined || id === null || id === "" ? models[0] : models.find(({ place }) => place.id === id);
  if (found) return found;
  throw new Problem(400, "unknown_model", `Expected a model of this server. ${offeredNames(models)}`, "model");
}
