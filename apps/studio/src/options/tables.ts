import { always, boolean, found, integer, LOAD_TABLE, type OptionTable, real, text } from "@vd/svd-pipeline/options";

const MAX_PORT = 65_535;
const MIB = 2 ** 20;
const { device, threads } = LOAD_TABLE;

const DATA = {
  data: {
    kind: text("a folder"),
    doc: "Folder for videos, the queue and keys.",
    default: found("vd-studio in the user's data folder"),
    cli: { flags: "--data <DIR>" },
  },
} as const satisfies OptionTable;

const REDIS = {
  redis: {
    kind: text("an address of Redis", "^rediss?://"),
    doc: "Shares the queue with other machines by BullMQ on this Redis; without it the queue is in the data folder.",
    cli: { flags: "--redis <URL>" },
  },
} as const satisfies OptionTable;

/** Where results go, and who makes them: what the server and workers of other machines have in common. */
const WORK_ROWS = {
  model: {
    kind: text("names, separated by commas"),
    doc: "Models to offer: folders, .safetensors files or ids of the Hub, separated by commas; NAME=PLACE gives one a name. The first one is the default.",
    default: found("the bundled tiny-svd"),
    cli: { flags: "-m, --model <NAMES>" },
  },
  device,
  threads: { ...threads, doc: "CPU threads of each worker.", default: found("all cores, shared by the workers") },
  workers: {
    kind: integer(0, 64),
    doc: "Processes that make videos at the same time, on each GPU of --gpus or on the CPU.",
    default: always(1),
    cli: { flags: "--workers <N>" },
  },
  gpus: {
    kind: text("numbers of GPUs such as 0,1", "^[0-9]+(,[0-9]+)*$"),
    doc: "GPUs to work on, by their numbers; each gets its own workers.",
    cli: { flags: "--gpus <LIST>" },
  },
  s3: {
    kind: text("an address of a bucket", "^https?://"),
    doc: "Keeps pictures and videos in this S3-compatible bucket instead of a folder: https://HOST/BUCKET. The keys are in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the region in AWS_REGION.",
    cli: { flags: "--s3 <URL>" },
  },
  stalledSeconds: {
    kind: real(1, 3600),
    unit: "seconds",
    doc: "After how long without a sign of life the videos of a worker on Redis are given to others.",
    default: always(15),
    cli: { flags: "--stalled-seconds <N>" },
  },
} as const satisfies OptionTable;

/** Options of the server. */
export const SERVE_TABLE = {
  port: {
    kind: integer(0, MAX_PORT),
    doc: "Port to listen at; 0 for any that is free.",
    default: always(8585),
    cli: { flags: "-p, --port <N>" },
  },
  host: {
    kind: text("an address of this machine"),
    doc: "Address to listen at. Any but this machine's own needs a key first: vd-studio keys add NAME.",
    default: always("localhost"),
    cli: { flags: "--host <ADDRESS>" },
  },
  allowHost: {
    kind: text("names, separated by commas"),
    doc: "Further names that this server is called by, for a proxy in front of it; everybody then needs a key.",
    cli: { flags: "--allow-host <NAMES>" },
  },
  ...DATA,
  open: {
    kind: boolean,
    doc: "Opens the page in the browser.",
    default: always(true),
    cli: { flags: "--open", off: { flag: "--no-open", doc: "Does not open the page in the browser." } },
  },
  ...WORK_ROWS,
  ...REDIS,
  maxBody: {
    kind: real(0.1, 1024),
    unit: "MiB",
    doc: "The largest request, pictures in it included.",
    default: always(64),
    cli: { flags: "--max-body <MIB>" },
  },
  allowPrivate: {
    kind: boolean,
    doc: "Lets addresses of pictures and webhooks lead to private networks and to this machine.",
    default: always(false),
    cli: { flags: "--allow-private" },
  },
  drainSeconds: {
    kind: real(0, 86_400),
    unit: "seconds",
    doc: "How long a server that is stopped waits for videos that are being made; what is not done goes on at the next start.",
    default: always(30),
    cli: { flags: "--drain-seconds <N>" },
  },
} as const satisfies OptionTable;

/** Options of a worker for the queue of other machines. */
export const WORKER_TABLE = {
  ...WORK_ROWS,
  ...DATA,
  redis: { ...REDIS.redis, doc: "The Redis of the servers.", required: true },
  drainSeconds: SERVE_TABLE.drainSeconds,
} as const satisfies OptionTable;

/** Options of the commands about keys. */
export const KEYS_TABLE = { ...DATA, ...REDIS } as const satisfies OptionTable;

/** Options of a new key. */
export const KEY_ADD_TABLE = {
  videos: {
    kind: integer(1, 1_000_000),
    doc: "How many videos of the key may be queued or running.",
    default: always(100),
    cli: { flags: "--videos <N>" },
  },
  perMinute: {
    kind: integer(1, 1_000_000),
    doc: "How many requests the key may make in a minute.",
    default: always(600),
    cli: { flags: "--per-minute <N>" },
  },
  ...KEYS_TABLE,
} as const satisfies OptionTable;

/** Bytes of `maxBody`. */
export const bytesOfMib = (mib: number): number => Math.floor(mib * MIB);
