import { DelayedError, type Job, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { VideoFiles } from "../files/video-files";
import { MAX_CRASHES } from "../queue/video-queue";
import { hasEnded, type VideoRecord } from "../videos/record";
import { type AttemptEnd, attempt } from "../workers/attempt";
import type { ModelPlace } from "../workers/messages";
import type { WorkerProcess } from "../workers/worker-process";
import { NAMES, QUEUES } from "./connection";
import type { RedisQueue } from "./redis-queue";

/** What a worker of the shared queue works with. */
export interface VideoWorkerParts {
  redis: Redis;
  queue: RedisQueue;
  files: VideoFiles;
  workers: readonly WorkerProcess[];
  modelOf(id: string): ModelPlace;
  /** After how long without a sign of life a worker's videos are given to others, in ms. */
  stalledMs: number;
}

/** A worker that dies takes its videos down once; one that is stopped gives them back. Losing many in a row is no fault of a video. */
const MAX_STALLED = 100;
const RETRY_MS = 1000;

/** Takes videos of the shared queue, one for each of its processes. */
export class VideoWorker {
  private readonly free: WorkerProcess[];
  private readonly running = new Map<string, AbortController>();
  private readonly bull: Worker;
  private readonly listener: Redis;
  private isStopping = false;

  constructor(private readonly parts: VideoWorkerParts) {
    const { redis, workers, stalledMs } = parts;
    this.free = [...workers];
    this.listener = redis.duplicate();
    this.listener.on("error", () => {});
    this.listener.on("message", (_, id: string) => this.running.get(id)?.abort());
    void this.listener.subscribe(NAMES.cancels).catch(() => {});
    this.bull = new Worker(QUEUES.videos, (job, token) => this.process(job, token), {
      ...{ connection: redis, concurrency: workers.length, maxStalledCount: MAX_STALLED },
      ...{ lockDuration: stalledMs, stalledInterval: stalledMs },
    });
    this.bull.on("error", () => {});
  }

  /** Takes nothing more and waits for what runs, at most so long; what has not ended goes back into the queue. */
  async stop(waitMs: number): Promise<void> {
    this.isStopping = true;
    const { workers } = this.parts;
    const end = setTimeout(() => void Promise.all(workers.map((worker) => worker.stop())), waitMs);
    await this.bull.close();
    clearTimeout(end);
    this.listener.disconnect();
  }

  private async process(job: Job<{ id: string }>, token: string | undefined): Promise<void> {
    const { queue } = this.parts;
    const { id } = job.data;
    const video = await this.begin(id);
    if (!video) {
      // Somebody ended right behind the end of a video: its message may not have been sent.
      const ended = await queue.get(id);
      if (ended && hasEnded(ended)) await queue.deliver(ended);
      return;
    }
    const end = await this.make(video);
    if (end.type !== "crashed") return this.end(video, end);
    const crashes = video.crashes + (this.isStopping ? 0 : 1);
    if (crashes >= MAX_CRASHES)
      return this.end(video, { type: "failed", failure: { code: "crashed", message: end.message } });
    const waiting = await queue.videos.update(id, mine(video, { status: "queued", crashes }));
    if (!waiting) return;
    await queue.tell({ type: "status", video: waiting });
    await job.moveToDelayed(Date.now() + RETRY_MS, token);
    throw new DelayedError();
  }

  private async begin(id: string): Promise<VideoRecord | undefined> {
    const { queue } = this.parts;
    const video = await queue.videos.update(id, ({ attempts }) => ({
      ...{ status: "in_progress", startedAt: Date.now(), attempts: attempts + 1 },
    }));
    if (!video) return undefined;
    await queue.videos.serveTurn(video);
    await queue.tell({ type: "status", video });
    return video;
  }

  private async make(video: VideoRecord): Promise<AttemptEnd> {
    const { files, modelOf, queue } = this.parts;
    const { id, attempts } = video;
    // What another machine had committed when it died is not made again.
    const result = attempts > 1 ? await files.committed(id) : undefined;
    if (result) {
      await files.tidy(id);
      return { type: "done", result };
    }
    const worker = this.free.pop()!;
    const cancel = new AbortController();
    this.running.set(id, cancel);
    try {
      const tell = (event: Parameters<RedisQueue["tell"]>[0]) => void queue.tell(event).catch(() => {});
      return await attempt(video, { worker, files, modelOf, signal: cancel.signal, tell });
    } finally {
      this.running.delete(id);
      this.free.push(worker);
    }
  }

  private async end(video: VideoRecord, end: Exclude<AttemptEnd, { type: "crashed" }>): Promise<void> {
    const outcome =
      end.type === "done"
        ? ({ status: "completed", result: end.result } as const)
        : ({ status: "failed", error: end.failure } as const);
    const { queue } = this.parts;
    const ended = await queue.videos.update(video.id, mine(video, { ...outcome, completedAt: Date.now() }));
    if (ended) await queue.noteEnd(ended);
  }
}

/** A change by whoever has the last attempt: a worker that was taken for dead changes nothing any more. */
const mine =
  ({ attempts }: VideoRecord, change: Partial<VideoRecord>) =>
  (now: VideoRecord): Partial<VideoRecord> | undefined =>
    now.attempts === attempts ? change : undefined;
