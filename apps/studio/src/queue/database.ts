import { chmod, stat } from "node:fs/promises";
import { join } from "node:path";
import { VdError } from "@vd/kernels-native";
import { makeFolder, systemCode } from "@vd/tensor";
import Database from "libsql";

/** An open SQLite database. */
export type Sqlite = Database.Database;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS videos (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, status TEXT NOT NULL, priority INTEGER NOT NULL, turn INTEGER NOT NULL, record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS videos_by_turn ON videos (status, priority, turn, id);
  CREATE INDEX IF NOT EXISTS videos_by_owner ON videos (owner, status, turn);
  CREATE INDEX IF NOT EXISTS videos_of_owner ON videos (owner, id);
  CREATE INDEX IF NOT EXISTS videos_of_status ON videos (status, id);
  CREATE INDEX IF NOT EXISTS videos_of_owner_and_status ON videos (owner, status, id);
  CREATE TABLE IF NOT EXISTS calls (
    owner TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, video TEXT NOT NULL, made INTEGER NOT NULL, PRIMARY KEY (owner, key)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS served (priority INTEGER PRIMARY KEY, turn INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS deliveries (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, url TEXT NOT NULL, body TEXT NOT NULL, attempts INTEGER NOT NULL, due INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS deliveries_by_due ON deliveries (due);
  CREATE TABLE IF NOT EXISTS keys (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, record TEXT NOT NULL) STRICT;
`;

const unusable = (folder: string, cause: unknown): VdError => {
  const why = systemCode(cause) ?? (cause as { code?: string }).code ?? (cause as Error).message;
  const hint = "Choose another one with --data.";
  return new VdError({
    code: "io",
    where: "--data",
    expected: "a folder to write into",
    got: `${folder} (${why})`,
    hint,
    cause,
  });
};

/** Makes a data folder that is not there, for this user alone. @throws VdError `io` where it cannot be made */
export async function makeDataFolder(folder: string): Promise<void> {
  try {
    const isThere = await stat(folder).then(
      () => true,
      () => false,
    );
    await makeFolder(folder);
    if (!isThere) await chmod(folder, 0o700);
  } catch (cause) {
    throw unusable(folder, cause);
  }
}

/** Opens the database of a data folder, see {@link makeDataFolder}. Several processes may: the server, and commands about keys. */
export function openDatabase(folder: string): Sqlite {
  const database = open(folder, "studio.db", { timeout: 5000 } as Database.Options);
  // A process that is killed loses nothing that was committed; the last milliseconds before a power cut may be lost, never more.
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000");
  database.exec(SCHEMA);
  return database;
}

function open(folder: string, name: string, options?: Database.Options): Sqlite {
  try {
    return new Database(join(folder, name), options);
  } catch (cause) {
    throw unusable(folder, cause);
  }
}

/**
 * Takes a data folder for this process until it ends, however it ends: the lock is the operating system's. Returns what lets it go.
 *
 * @throws VdError `io` where another process has it, or where nothing can be written there
 */
export function lockFolder(folder: string): () => void {
  const lock = open(folder, "lock.db");
  try {
    lock.exec("PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE");
  } catch (cause) {
    lock.close();
    const got = `${folder}, which another vd-studio uses`;
    const hint = "Stop that one, or choose another folder with --data.";
    throw new VdError({ code: "io", where: "--data", expected: "a folder of one server", got, hint, cause });
  }
  return () => lock.close();
}
