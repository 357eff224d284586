import { VdError } from "@vd/kernels-native";
import { usualFolder } from "../environment";
import { addKey, type KeyStore, localKey } from "../keys/key-store";
import { SqliteKeys } from "../keys/sqlite-keys";
import type { KeysSettings } from "../options/settings";
import { makeDataFolder, openDatabase } from "../queue/database";
import { LOCAL_OWNER } from "../videos/record";

/** Opens the keys, of this machine or of all that share a Redis, for as long as `use` takes. */
async function withKeys<T>({ data, redis }: KeysSettings, use: (keys: KeyStore) => Promise<T>): Promise<T> {
  if (redis !== undefined) return (await import("./redis-studio")).withRedisKeys(redis, use);
  const folder = data ?? usualFolder();
  await makeDataFolder(folder);
  const database = openDatabase(folder);
  try {
    return await use(new SqliteKeys(database));
  } finally {
    database.close();
  }
}

const missing = (id: string) =>
  new VdError({
    code: "attr",
    where: "id",
    expected: "the id of a key",
    got: `"${id}"`,
    hint: "vd-studio keys list shows them.",
  });

/** Makes a key; returns what to print. */
export function addKeyCommand(settings: KeysSettings, name: string): Promise<string> {
  return withKeys(settings, async (keys) => {
    const { key, record } = await addKey(keys, name, { videos: settings.videos, perMinute: settings.perMinute });
    return `${key}\n  id              ${record.id}\n  webhook secret  ${record.webhookSecret}\nThe key is shown this once; only its hash is kept.\n`;
  });
}

/** Lists keys; returns what to print. */
export function listKeysCommand(settings: KeysSettings): Promise<string> {
  return withKeys(settings, async (keys) => {
    const rows = (await keys.list()).filter(({ id }) => id !== LOCAL_OWNER);
    if (rows.length === 0) return "No keys. vd-studio keys add NAME makes one.\n";
    const lines = rows.map(({ id, name, videos, perMinute, createdAt }) => {
      const made = new Date(createdAt).toISOString().slice(0, 10);
      return `${id}  ${made}  ${String(videos).padStart(6)} videos  ${String(perMinute).padStart(6)} a minute  ${name}\n`;
    });
    return lines.join("");
  });
}

/** Takes a key away; returns what to print. @throws VdError `attr` where there is none */
export function removeKeyCommand(settings: KeysSettings, id: string): Promise<string> {
  return withKeys(settings, async (keys) => {
    if (id === LOCAL_OWNER || !(await keys.remove(id))) throw missing(id);
    return `${id} is taken away.\n`;
  });
}

/** Returns the secret of a key's webhooks. @throws VdError `attr` where there is no such key */
export function secretCommand(settings: KeysSettings, id: string): Promise<string> {
  return withKeys(settings, async (keys) => {
    const key = id === LOCAL_OWNER ? await localKey(keys) : await keys.byId(id);
    if (!key) throw missing(id);
    return `${key.webhookSecret}\n`;
  });
}
