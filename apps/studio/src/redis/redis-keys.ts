import type { Redis } from "ioredis";
import type { KeyRecord, KeyStore } from "../keys/key-store";
import { NAMES } from "./connection";

const parsed = (text: string | null): KeyRecord | undefined =>
  text === null ? undefined : (JSON.parse(text) as KeyRecord);

/** Keys in Redis, for all servers that share it. */
export class RedisKeys implements KeyStore {
  constructor(private readonly redis: Redis) {}

  async put(hash: string, record: KeyRecord): Promise<void> {
    const isNew = await this.redis.hsetnx(NAMES.keys, record.id, JSON.stringify(record));
    if (isNew === 1) await this.redis.hset(NAMES.keyHashes, hash, record.id);
  }

  async byHash(hash: string): Promise<KeyRecord | undefined> {
    const id = await this.redis.hget(NAMES.keyHashes, hash);
    return id === null ? undefined : this.byId(id);
  }

  async byId(id: string): Promise<KeyRecord | undefined> {
    return parsed(await this.redis.hget(NAMES.keys, id));
  }

  async list(): Promise<KeyRecord[]> {
    const all = Object.values(await this.redis.hgetall(NAMES.keys)).map((text) => parsed(text)!);
    return all.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async remove(id: string): Promise<boolean> {
    // A hash that leads to no record lets nobody in.
    return (await this.redis.hdel(NAMES.keys, id)) > 0;
  }
}
