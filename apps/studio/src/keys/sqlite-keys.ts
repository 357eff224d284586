import type { Sqlite } from "../queue/database";
import type { KeyRecord, KeyStore } from "./key-store";

const parsed = (row: unknown): KeyRecord | undefined =>
  row === undefined ? undefined : (JSON.parse((row as { record: string }).record) as KeyRecord);

/** Keys in SQLite. */
export class SqliteKeys implements KeyStore {
  private readonly find;

  constructor(private readonly database: Sqlite) {
    this.find = database.prepare("SELECT record FROM keys WHERE hash = ?");
  }

  async put(hash: string, record: KeyRecord): Promise<void> {
    this.database.prepare("INSERT OR IGNORE INTO keys VALUES (?, ?, ?)").run(record.id, hash, JSON.stringify(record));
  }

  async byHash(hash: string): Promise<KeyRecord | undefined> {
    return parsed(this.find.get(hash));
  }

  async byId(id: string): Promise<KeyRecord | undefined> {
    return parsed(this.database.prepare("SELECT record FROM keys WHERE id = ?").get(id));
  }

  async list(): Promise<KeyRecord[]> {
    return this.database
      .prepare("SELECT record FROM keys ORDER BY id")
      .all()
      .map((row) => parsed(row)!);
  }

  async remove(id: string): Promise<boolean> {
    return this.database.prepare("DELETE FROM keys WHERE id = ?").run(id).changes > 0;
  }
}
