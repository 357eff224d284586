import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { VdError } from "@vd/kernels-native";
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

/** Opens the database of a data folder, which is made if it is not there. Several processes may: the server, and commands about keys. */
export function openDatabase(folder: string): Sqlite {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const database = new Database(join(folder, "studio.db"), { timeout: 5000 } as Database.Options);
  // A process that is killed loses nothing that was committed; the last milliseconds before a power cut may be lost, never more.
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 5000");
  database.exec(SCHEMA);
  return database;
}

/**
 * Takes a data folder for this process until it ends, however it ends: the lock is the operating system's. Returns what lets it go.
 *
 * @throws VdError `io` where another process has it
 */
export function lockFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = new Database(join(folder, "lock.db"));
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
