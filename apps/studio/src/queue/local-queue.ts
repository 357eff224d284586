import { setTimeout as wait } from "node:timers/promises";
import type { VideoFiles } from "../files/video-files";
import { type VideoEvent, VideoEvents } from "../videos/events";
import { hasEnded, type VideoRecord } from "../videos/record";
import { type AttemptEnd, attempt } from "../workers/attempt";
import type { ModelPlace } from "../workers/messages";
import type { WorkerProcess } from "../workers/worker-process";
import { type IdempotentCall, type ListQuery, MAX_CRASHES, type NewVideo, type VideoQueue } from "./video-queue";
import type { VideoTable } from "./video-table";

/** What a queue in one process works with. */
export interface LocalQueueParts {
  table: VideoTable;
  files: VideoFiles;
  workers: readonly WorkerProcess[];
  /** Returns a model's place by its id. */
  modelOf(id: string): ModelPlace;
  /** Called within the transaction that ends a video. */
  onEnd(video: VideoRecord): void;
}

/** After how long the database is tried again that could not be written. */
const RETRY_MS = 1000;

/** A durable queue in one process: SQLite keeps it, worker processes make the videos. */
export class LocalQueue implements VideoQueue {
  readonly events = new VideoEvents();
  private readonly running = new Map<
    string,
    { worker: WorkerProcess; cancel: AbortController; ended: Promise<void> }
  >();
  private isDraining = false;

  private constructor(private readonly parts: LocalQueueParts) {}

  /** Opens the queue: what was under way when the last process ended is finished where its files are complete, and else goes on. */
  static async open(parts: LocalQueueParts): Promise<LocalQueue> {
    const queue = new LocalQueue(parts);
    for (const video of parts.table.interrupted()) {
      const result = await parts.files.committed(video.id);
      if (result) {
        queue.end(video.id, { type: "done", result });
        await parts.files.tidy(video.id);
      } else parts.table.update(video.id, { status: "queued" });
    }
    queue.pumpSafely();
    return queue;
  }

  async add(video: NewVideo, limit: number, call?: IdempotentCall): Promise<VideoRecord> {
    const added = this.parts.table.add(video, limit, call);
    if (added.id !== video.id) return added;
    this.events.publish({ type: "status", video: added });
    // The caller's answer does not wait for a worker.
    setImmediate(() => this.pumpSafely());
    return added;
  }

  async earlier(owner: string, call: IdempotentCall): Promise<VideoRecord | undefined> {
    return this.parts.table.earlier(owner, call);
  }

  async numActive(owner: string): Promise<number> {
    const { waiting, running } = this.parts.table.counts(owner);
    return waiting + running;
  }

  async get(id: string): Promise<VideoRecord | undefined> {
    return this.parts.table.get(id);
  }

  async list(query: ListQuery): Promise<VideoRecord[]> {
    return this.parts.table.list(query);
  }

  async positionOf(video: VideoRecord): Promise<number> {
    return this.parts.table.positionOf(video);
  }

  async counts() {
    return this.parts.table.counts();
  }

  async cancel(id: string): Promise<VideoRecord | undefined> {
    const cancelled = this.end(id, {
      type: "failed",
      failure: { code: "cancelled", message: "The video was cancelled." },
    });
    this.running.get(id)?.cancel.abort();
    return cancelled ?? this.parts.table.get(id);
  }

  async remove(id: string): Promise<void> {
    const video = await this.cancel(id);
    this.parts.table.remove(id);
    if (video) this.events.publish({ type: "deleted", id, owner: video.owner });
    const removed = Promise.resolve(this.running.get(id)?.ended).then(() => this.parts.files.remove(id));
    // A worker may take a moment to stop; the answer does not wait for it.
    if (this.running.has(id)) removed.catch(() => {});
    else await removed;
  }

  isReachable(): boolean {
    return true;
  }

  async isReady(): Promise<boolean> {
    return !this.isDraining;
  }

  async drain(waitMs: number): Promise<void> {
    this.isDraining = true;
    const ended = Promise.all([...this.running.values()].map((each) => each.ended));
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise((resolve) => {
      timer = setTimeout(resolve, waitMs);
    });
    await Promise.race([ended, tooLong]);
    clearTimeout(timer);
    // What still runs stays `in_progress`, and goes on at the next start.
    await Promise.all(this.parts.workers.map((worker) => worker.stop()));
    await ended;
  }

  /** {@link pump}, later again where the database cannot be written: a full disk ends no server. */
  private pumpSafely(): void {
    try {
      this.pump();
    } catch {
      setTimeout(() => this.pumpSafely(), RETRY_MS).unref();
    }
  }

  /** {@link settle}, again until the database takes it; what was not noted at the end of this process is found at the next start. */
  private async settleSafely(video: VideoRecord, end: AttemptEnd): Promise<void> {
    for (;;) {
      try {
        return this.settle(video, end);
      } catch {
        if (this.isDraining) return;
        await wait(RETRY_MS);
      }
    }
  }

  /** Gives waiting videos to workers that do nothing. */
  private pump(): void {
    const busy = new Set([...this.running.values()].map(({ worker }) => worker));
    for (const worker of this.parts.workers) {
      if (this.isDraining) return;
      if (busy.has(worker)) continue;
      const video = this.parts.table.takeNext();
      if (!video) return;
      this.start(video, worker);
    }
  }

  private start(video: VideoRecord, worker: WorkerProcess): void {
    this.events.publish({ type: "status", video });
    const { files, modelOf } = this.parts;
    const cancel = new AbortController();
    const tell = (event: VideoEvent) => this.events.publish(event);
    const ended = attempt(video, { worker, files, modelOf, signal: cancel.signal, tell })
      .then((end) => this.settleSafely(video, end))
      .finally(() => {
        this.running.delete(video.id);
        this.pumpSafely();
      });
    this.running.set(video.id, { worker, cancel, ended });
  }

  private settle(video: VideoRecord, end: AttemptEnd): void {
    if (end.type !== "crashed") this.end(video.id, end);
    else if (!this.isDraining) {
      const crashes = video.crashes + 1;
      const code = "crashed";
      if (crashes >= MAX_CRASHES) this.end(video.id, { type: "failed", failure: { code, message: end.message } });
      else this.change(video.id, { status: "queued", crashes });
    }
  }

  private end(id: string, end: Exclude<AttemptEnd, { type: "crashed" }>): VideoRecord | undefined {
    const outcome =
      end.type === "done"
        ? ({ status: "completed", result: end.result } as const)
        : ({ status: "failed", error: end.failure } as const);
    return this.change(id, { ...outcome, completedAt: Date.now() });
  }

  private change(id: string, change: Partial<VideoRecord>): VideoRecord | undefined {
    const { table, onEnd } = this.parts;
    const video = table.update(id, change, (changed) => {
      if (hasEnded(changed)) onEnd(changed);
    });
    if (video) this.events.publish({ type: "status", video });
    return video;
  }
}
