import type Database from "libsql";
import { hasEnded, PRIORITIES, type VideoRecord, type WebhookState } from "../videos/record";
import type { Sqlite } from "./database";
import { nextTurn } from "./fairness";
import {
  IDEMPOTENCY_MS,
  IdempotencyError,
  type IdempotentCall,
  LimitError,
  type ListQuery,
  type NewVideo,
  type QueueCounts,
  queuedRecord,
} from "./video-queue";

interface RecordRow {
  record: string;
}

const parsed = (row: unknown): VideoRecord | undefined =>
  row === undefined ? undefined : (JSON.parse((row as RecordRow).record) as VideoRecord);

const rankOf = ({ priority }: Pick<VideoRecord, "priority">): number => PRIORITIES.indexOf(priority);

/** Videos in SQLite. Every call is one transaction. */
export class VideoTable {
  private readonly statements = new Map<string, Database.Statement>();

  /** Positions of videos that wait, as last asked for: lists ask for many. Nobody else writes videos, so they hold until the next change. */
  private positions: ReadonlyMap<string, number> | undefined;

  constructor(private readonly database: Sqlite) {}

  /** Adds a video with its turn, unless it was added by an earlier call. @throws LimitError, IdempotencyError */
  add(video: NewVideo, limit: number, call?: IdempotentCall): VideoRecord {
    return this.atOnce(() => {
      const earlier = call && this.earlier(video.owner, call);
      if (earlier) return earlier;
      const { waiting, running } = this.counts(video.owner);
      if (waiting + running >= limit) throw new LimitError(limit);
      const record = queuedRecord(video, this.turnFor(video));
      const { id, owner, status, turn } = record;
      this.run(
        "INSERT INTO videos VALUES (?, ?, ?, ?, ?, ?)",
        id,
        owner,
        status,
        rankOf(record),
        turn,
        JSON.stringify(record),
      );
      if (call)
        this.run(
          "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?)",
          owner,
          call.key,
          call.fingerprint,
          id,
          Date.now(),
        );
      return record;
    });
  }

  /** Returns the video of an earlier call. @throws IdempotencyError */
  earlier(owner: string, call: IdempotentCall): VideoRecord | undefined {
    this.run("DELETE FROM calls WHERE made < ?", Date.now() - IDEMPOTENCY_MS);
    const row = this.one("SELECT fingerprint, video FROM calls WHERE owner = ? AND key = ?", owner, call.key);
    if (row === undefined) return undefined;
    const { fingerprint, video } = row as { fingerprint: string; video: string };
    if (fingerprint !== call.fingerprint) throw new IdempotencyError();
    return this.get(video);
  }

  get(id: string): VideoRecord | undefined {
    return parsed(this.one("SELECT record FROM videos WHERE id = ?", id));
  }

  list({ owner, status, after, order, limit }: ListQuery): VideoRecord[] {
    const conditions = [
      ...(owner === undefined ? [] : [["owner = ?", owner]]),
      ...(status === undefined ? [] : [["status = ?", status]]),
      ...(after === undefined ? [] : [[order === "asc" ? "id > ?" : "id < ?", after]]),
    ] as [string, string][];
    const where = conditions.length > 0 ? `WHERE ${conditions.map(([sql]) => sql).join(" AND ")}` : "";
    const sql = `SELECT record FROM videos ${where} ORDER BY id ${order === "asc" ? "ASC" : "DESC"} LIMIT ?`;
    return this.records(sql, ...conditions.map(([, value]) => value), limit);
  }

  counts(owner?: string): QueueCounts {
    const byStatus = (status: string) => {
      const sql = `SELECT COUNT(*) AS n FROM videos WHERE status = ?${owner === undefined ? "" : " AND owner = ?"}`;
      return (this.one(sql, status, ...(owner === undefined ? [] : [owner])) as { n: number }).n;
    };
    return { waiting: byStatus("queued"), running: byStatus("in_progress") };
  }

  positionOf({ id }: VideoRecord): number {
    this.positions ??= this.readPositions();
    return this.positions.get(id) ?? 0;
  }

  private readPositions(): ReadonlyMap<string, number> {
    // One text instead of a row for each, which would cost a call of the binding.
    const ordered = "SELECT id FROM videos WHERE status = 'queued' ORDER BY priority, turn, id";
    const { ids } = this.one(`SELECT json_group_array(id) AS ids FROM (${ordered})`) as { ids: string };
    return new Map((JSON.parse(ids) as string[]).map((id, i) => [id, i]));
  }

  /** Begins the work on the next video; undefined where none waits. */
  takeNext(): VideoRecord | undefined {
    return this.atOnce(() => {
      const next = parsed(
        this.one("SELECT record FROM videos WHERE status = 'queued' ORDER BY priority, turn, id LIMIT 1"),
      );
      if (!next) return undefined;
      this.run(
        "INSERT INTO served VALUES (?, ?) ON CONFLICT (priority) DO UPDATE SET turn = MAX(turn, excluded.turn)",
        rankOf(next),
        next.turn,
      );
      return this.update(next.id, { status: "in_progress", startedAt: Date.now(), attempts: next.attempts + 1 });
    });
  }

  /** Changes a video that has not ended; undefined where it has, or where there is none. `also` is part of the transaction. */
  update(id: string, change: Partial<VideoRecord>, also?: (video: VideoRecord) => void): VideoRecord | undefined {
    return this.atOnce(() => {
      const video = this.get(id);
      if (!video || hasEnded(video)) return undefined;
      const changed = { ...video, ...change };
      this.run("UPDATE videos SET status = ?, record = ? WHERE id = ?", changed.status, JSON.stringify(changed), id);
      also?.(changed);
      return changed;
    });
  }

  /** Notes how far the message about a video's end has come; undefined where there is no such video. `also` is part of the transaction. */
  setWebhook(id: string, webhook: WebhookState, also: () => void): VideoRecord | undefined {
    return this.atOnce(() => {
      const video = this.get(id);
      const changed = video && { ...video, webhook };
      if (changed) this.run("UPDATE videos SET record = ? WHERE id = ?", JSON.stringify(changed), id);
      also();
      return changed;
    });
  }

  remove(id: string): void {
    this.positions = undefined;
    this.run("DELETE FROM videos WHERE id = ?", id);
  }

  /** Videos whose work was under way when the process before this one ended. */
  interrupted(): VideoRecord[] {
    return this.records("SELECT record FROM videos WHERE status = 'in_progress'");
  }

  private turnFor(video: NewVideo): number {
    const rank = rankOf(video);
    const served = this.one("SELECT turn FROM served WHERE priority = ?", rank) as { turn: number } | undefined;
    const sql = "SELECT MAX(turn) AS turn FROM videos WHERE owner = ? AND status = 'queued' AND priority = ?";
    const last = this.one(sql, video.owner, rank) as { turn: number | null };
    return nextTurn(served?.turn ?? 0, last.turn ?? 0);
  }

  private depth = 0;

  /** Runs a body as one transaction; within another one it is part of that. */
  private atOnce<T>(body: () => T): T {
    if (this.depth > 0) return body();
    this.depth++;
    this.positions = undefined;
    try {
      this.database.exec("BEGIN IMMEDIATE");
      try {
        const value = body();
        this.database.exec("COMMIT");
        return value;
      } catch (error) {
        this.database.exec("ROLLBACK");
        throw error;
      }
    } finally {
      this.depth--;
    }
  }

  private statement(sql: string): Database.Statement {
    const known = this.statements.get(sql) ?? this.database.prepare(sql);
    this.statements.set(sql, known);
    return known;
  }

  private run(sql: string, ...values: unknown[]): void {
    this.statement(sql).run(...values);
  }

  private one(sql: string, ...values: unknown[]): unknown {
    return this.statement(sql).get(...values);
  }

  /** Returns the records that a selection finds, in its order; they come as one text. */
  private records(sql: string, ...values: unknown[]): VideoRecord[] {
    const row = this.one(`SELECT group_concat(record, ',') AS records FROM (${sql})`, ...values);
    return JSON.parse(`[${(row as { records: string | null }).records ?? ""}]`) as VideoRecord[];
  }
}
