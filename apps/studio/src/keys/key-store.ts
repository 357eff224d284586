import { createHash, randomBytes } from "node:crypto";
import { LOCAL_OWNER } from "../videos/record";

/** What is kept of a key: never the key itself. */
export interface KeyRecord {
  id: string;
  name: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** How many of its videos may be queued or running. */
  videos: number;
  /** Requests a minute. */
  perMinute: number;
  /** Signs its webhooks; `whsec_…`. */
  webhookSecret: string;
}

/** What a new key may do. */
export type KeyLimits = Pick<KeyRecord, "videos" | "perMinute">;

/** Where keys are kept. */
export interface KeyStore {
  put(hash: string, record: KeyRecord): Promise<void>;
  byHash(hash: string): Promise<KeyRecord | undefined>;
  byId(id: string): Promise<KeyRecord | undefined>;
  list(): Promise<KeyRecord[]>;
  /** True if there was one. */
  remove(id: string): Promise<boolean>;
}

const PREFIX = "sk-vd-";

/** A key's hash. Keys are 256 random bits, which nobody finds by trying: a slow hash would only slow down requests. */
export const hashOf = (key: string): string => createHash("sha256").update(key).digest("hex");

const makeSecret = () => `whsec_${randomBytes(24).toString("base64")}`;

/** Makes a key. It is shown once; only its hash is kept. */
export async function addKey(
  store: KeyStore,
  name: string,
  limits: KeyLimits,
): Promise<{ key: string; record: KeyRecord }> {
  const key = `${PREFIX}${randomBytes(32).toString("base64url")}`;
  const id = `key_${randomBytes(8).toString("hex")}`;
  const record = { id, name, createdAt: Date.now(), ...limits, webhookSecret: makeSecret() };
  await store.put(hashOf(key), record);
  return { key, record };
}

/** Who calls without a key on this machine: no limits but those of the machine, and a secret for webhooks, made when first asked for. */
export async function localKey(store: KeyStore): Promise<KeyRecord> {
  const known = await store.byId(LOCAL_OWNER);
  if (known) return known;
  const limits = { videos: Number.MAX_SAFE_INTEGER, perMinute: Number.MAX_SAFE_INTEGER };
  const record = {
    id: LOCAL_OWNER,
    name: "without a key",
    createdAt: Date.now(),
    ...limits,
    webhookSecret: makeSecret(),
  };
  // No key has this hash, so nobody comes in by it.
  await store.put(LOCAL_OWNER, record);
  return (await store.byId(LOCAL_OWNER)) ?? record;
}
