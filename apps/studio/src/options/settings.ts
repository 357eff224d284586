import type { DeviceName } from "@vd/tensor";

/** What makes videos, as typed. */
export interface WorkSettings {
  model: string | undefined;
  device: DeviceName;
  threads: number | undefined;
  workers: number;
  gpus: string | undefined;
  s3: string | undefined;
  data: string | undefined;
  drainSeconds: number;
  stalledSeconds: number;
}

/** The server, as typed. */
export interface ServeSettings extends WorkSettings {
  port: number;
  host: string;
  allowHost: string | undefined;
  open: boolean;
  redis: string | undefined;
  maxBody: number;
  allowPrivate: boolean;
}

/** A worker for the queue of other machines, as typed. */
export interface WorkerSettings extends WorkSettings {
  redis: string;
}

/** The commands about keys, as typed. */
export interface KeysSettings {
  data: string | undefined;
  redis: string | undefined;
  videos: number;
  perMinute: number;
}
