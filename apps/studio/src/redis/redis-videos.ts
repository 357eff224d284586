import { setTimeout as wait } from "node:timers/promises";
import type { Redis } from "ioredis";
import {
  IDEMPOTENCY_MS,
  IdempotencyError,
  type IdempotentCall,
  type ListQuery,
  type NewVideo,
  type QueueCounts,
} from "../queue/video-queue";
import { hasEnded, PRIORITIES, type VideoRecord, type WebhookState } from "../videos/record";
import { NAMES } from "./connection";

/** BullMQ has 2^21 priorities; each of ours gets a third of them, and turns have place within it. */
const TURNS = 600_000;

/** Returns the order of a video among all that wait, from 1. */
export function orderOf({ priority, turn }: Pick<VideoRecord, "priority" | "turn">): number {
  return 1 + PRIORITIES.indexOf(priority) * TURNS + Math.min(turn, TURNS - 1);
}

/** How long the video of a call that came first is waited for. */
const CLAIM_TRIES = 20;
const CLAIM_MS = 100;

/** Gives an owner its next turn, as `nextTurn` does, in one go. Turns begin anew when nothing waits. */
const TAKE_TURN = `
  if redis.call('ZCARD', KEYS[3]) == 0 then redis.call('DEL', KEYS[1], KEYS[2]) end
  local served = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
  local last = tonumber(redis.call('HGET', KEYS[2], ARGV[2]) or '0')
  local turn = math.max(served, last) + 1
  redis.call('HSET', KEYS[2], ARGV[2], turn)
  return turn`;

/** Keeps a new video unless its owner has as many under way as it may, in one go: servers that share the queue count together. */
const PUT = `
  if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
  redis.call('SADD', KEYS[1], ARGV[2])
  redis.call('HSET', KEYS[2], 'version', '0', 'record', ARGV[3])
  for i = 3, 5 do redis.call('ZADD', KEYS[i], 0, ARGV[2]) end
  redis.call('ZADD', KEYS[6], ARGV[4], ARGV[2])
  return 1`;

/** Notes the turn that is served. */
const SERVE_TURN = `
  local served = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
  if tonumber(ARGV[2]) > served then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
  return 1`;

/** Writes a record if nobody else has written since it was read. */
const SWAP = `
  if (redis.call('HGET', KEYS[1], 'version') or '0') ~= ARGV[1] then return 0 end
  redis.call('HSET', KEYS[1], 'version', ARGV[1] + 1, 'record', ARGV[2])
  return 1`;

/** Videos in Redis: a record with a version each, and sorted sets that find them. */
export class RedisVideos {
  constructor(private readonly redis: Redis) {}

  /** Returns the turn of a new video. */
  async takeTurn({ priority, owner }: Pick<NewVideo, "priority" | "owner">): Promise<number> {
    const names = [NAMES.served, NAMES.lastTurns, NAMES.waiting];
    return (await this.redis.eval(TAKE_TURN, 3, ...names, priority, `${priority}:${owner}`)) as number;
  }

  /** Notes that the turn of a video is served. */
  async serveTurn({ priority, turn }: VideoRecord): Promise<void> {
    await this.redis.eval(SERVE_TURN, 1, NAMES.served, priority, String(turn));
  }

  /** Keeps a new video; false where its owner has as many under way as it may. */
  async put(video: VideoRecord, limit: number): Promise<boolean> {
    const { id, owner, status } = video;
    const names = [NAMES.active(owner), NAMES.video(id), NAMES.all, NAMES.ofOwner(owner), NAMES.ofStatus(status)];
    const values = [limit, id, JSON.stringify(video), orderOf(video)];
    return (await this.redis.eval(PUT, names.length + 1, ...names, NAMES.waiting, ...values)) === 1;
  }

  async get(id: string): Promise<VideoRecord | undefined> {
    const record = await this.redis.hget(NAMES.video(id), "record");
    return record === null ? undefined : (JSON.parse(record) as VideoRecord);
  }

  /** Changes a video that has not ended, undefined where it has or `change` does not want to. */
  async update(
    id: string,
    change: (video: VideoRecord) => Partial<VideoRecord> | undefined,
  ): Promise<VideoRecord | undefined> {
    return this.swap(id, (video) => (hasEnded(video) ? undefined : change(video)));
  }

  /** Notes how far the message about a video's end has come; undefined where there is no such video. */
  setWebhook(id: string, webhook: WebhookState): Promise<VideoRecord | undefined> {
    return this.swap(id, () => ({ webhook }));
  }

  /** Changes a video, again where somebody else does at the same time. */
  private async swap(
    id: string,
    change: (video: VideoRecord) => Partial<VideoRecord> | undefined,
  ): Promise<VideoRecord | undefined> {
    for (;;) {
      const [version, record] = await this.redis.hmget(NAMES.video(id), "version", "record");
      if (record === null || record === undefined) return undefined;
      const video = JSON.parse(record) as VideoRecord;
      const wanted = change(video);
      if (!wanted) return undefined;
      const changed = { ...video, ...wanted };
      const swapped = await this.redis.eval(SWAP, 1, NAMES.video(id), version ?? "0", JSON.stringify(changed));
      if (swapped !== 1) continue;
      await this.index(video, changed);
      return changed;
    }
  }

  async remove({ id, owner, status }: VideoRecord): Promise<void> {
    const all = this.redis.multi().del(NAMES.video(id)).zrem(NAMES.all, id).zrem(NAMES.ofOwner(owner), id);
    await all.srem(NAMES.active(owner), id).zrem(NAMES.ofStatus(status), id).zrem(NAMES.waiting, id).exec();
  }

  async list({ owner, status, after, order, limit }: ListQuery): Promise<VideoRecord[]> {
    const name = owner !== undefined ? NAMES.ofOwner(owner) : status !== undefined ? NAMES.ofStatus(status) : NAMES.all;
    const found: VideoRecord[] = [];
    let from = after;
    // An owner's videos of one status are picked out of all of the owner's.
    while (found.length < limit) {
      const ids = await this.idsAfter(name, from, order, limit);
      const records = await Promise.all(ids.map((id) => this.get(id)));
      for (const record of records)
        if (record && (status === undefined || record.status === status)) found.push(record);
      if (ids.length < limit) break;
      from = ids.at(-1);
    }
    return found.slice(0, limit);
  }

  private idsAfter(name: string, after: string | undefined, order: "asc" | "desc", limit: number): Promise<string[]> {
    if (order === "asc")
      return this.redis.zrangebylex(name, after === undefined ? "-" : `(${after}`, "+", "LIMIT", 0, limit);
    return this.redis.zrevrangebylex(name, after === undefined ? "+" : `(${after}`, "-", "LIMIT", 0, limit);
  }

  async counts(): Promise<QueueCounts> {
    const [waiting, running] = await Promise.all([
      this.redis.zcard(NAMES.ofStatus("queued")),
      this.redis.zcard(NAMES.ofStatus("in_progress")),
    ]);
    return { waiting, running };
  }

  /** Returns how many of an owner's videos have not ended. */
  numActive(owner: string): Promise<number> {
    return this.redis.scard(NAMES.active(owner));
  }

  async positionOf({ id }: VideoRecord): Promise<number> {
    return (await this.redis.zrank(NAMES.waiting, id)) ?? 0;
  }

  /** Returns the video of an earlier call. @throws IdempotencyError */
  async earlier(owner: string, { key, fingerprint }: IdempotentCall): Promise<VideoRecord | undefined> {
    const text = await this.redis.get(NAMES.call(owner, key));
    if (text === null) return undefined;
    const [known, id] = text.split(" ");
    if (known !== fingerprint) throw new IdempotencyError();
    return this.get(id!);
  }

  /** Makes a call this video's, or returns the video of the same call that came first. @throws IdempotencyError */
  async claimCall(video: NewVideo, call: IdempotentCall): Promise<VideoRecord | undefined> {
    const { owner, id } = video;
    const name = NAMES.call(owner, call.key);
    const text = `${call.fingerprint} ${id}`;
    if ((await this.redis.set(name, text, "PX", IDEMPOTENCY_MS, "NX")) !== null) return undefined;
    // The first call notes its key before its video, which comes at once, unless its server has just ended.
    for (let tries = 0; tries < CLAIM_TRIES; tries++) {
      const earlier = await this.earlier(owner, call);
      if (earlier) return earlier;
      await wait(CLAIM_MS);
    }
    await this.redis.set(name, text, "PX", IDEMPOTENCY_MS);
    return undefined;
  }

  /** Lets a call go that made no video after all. */
  async releaseCall({ owner, id }: NewVideo, { key, fingerprint }: IdempotentCall): Promise<void> {
    const name = NAMES.call(owner, key);
    if ((await this.redis.get(name)) === `${fingerprint} ${id}`) await this.redis.del(name);
  }

  private async index(before: VideoRecord, now: VideoRecord): Promise<void> {
    if (before.status === now.status) return;
    const { id, owner } = now;
    const all = this.redis.multi().zrem(NAMES.ofStatus(before.status), id).zadd(NAMES.ofStatus(now.status), 0, id);
    if (now.status === "queued") all.zadd(NAMES.waiting, orderOf(now), id);
    else all.zrem(NAMES.waiting, id);
    if (hasEnded(now)) all.srem(NAMES.active(owner), id);
    await all.exec();
  }
}
