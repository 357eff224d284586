import { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { VideoFiles } from "../files/video-files";
import {
  type IdempotentCall,
  LimitError,
  type ListQuery,
  type NewVideo,
  queuedRecord,
  type VideoQueue,
} from "../queue/video-queue";
import { type VideoEvent, VideoEvents } from "../videos/events";
import type { VideoRecord } from "../videos/record";
import { deliveryOf } from "../webhooks/webhook";
import { NAMES, QUEUES } from "./connection";
import { orderOf, RedisVideos } from "./redis-videos";
import { WEBHOOK_JOB } from "./webhook-worker";

/** How often videos are looked for that have not ended and are in no queue: their server ended between the two, or a job of theirs broke. */
const SWEEP_MS = 30_000;
/** A video that came, or was begun, so lately may still be on its way into the queue, or out of it. */
const SWEEP_AGE_MS = 10_000;
const MAX_SWEPT = 1000;

/** A queue on Redis that many servers and workers share. The server only adds, reads and listens; workers take videos by BullMQ. */
export class RedisQueue implements VideoQueue {
  readonly events = new VideoEvents();
  readonly videos: RedisVideos;
  private readonly queue: Queue;
  private readonly webhooks: Queue;
  private readonly listener: Redis;
  private readonly sweeper: NodeJS.Timeout;
  private worker: { stop(waitMs: number): Promise<void> } | undefined;
  private isDraining = false;

  constructor(
    private readonly redis: Redis,
    private readonly files: VideoFiles,
    sweepMs = SWEEP_MS,
  ) {
    this.videos = new RedisVideos(redis);
    this.queue = new Queue(QUEUES.videos, { connection: redis });
    this.webhooks = new Queue(QUEUES.webhooks, { connection: redis });
    // While Redis is away `GET /readyz` says so; else each try of theirs would be a stack in the log.
    for (const queue of [this.queue, this.webhooks]) queue.on("error", () => {});
    this.listener = redis.duplicate();
    this.listener.on("error", () => {});
    this.listener.on("message", (_, text: string) => this.events.publish(JSON.parse(text) as VideoEvent));
    this.sweeper = setInterval(() => void this.sweep().catch(() => {}), sweepMs);
    this.sweeper.unref();
  }

  /** Begins to hear of events; what was lost on the way into the queue is added again. */
  async open(): Promise<this> {
    await this.listener.subscribe(NAMES.events);
    await this.sweep();
    return this;
  }

  async add(video: NewVideo, limit: number, call?: IdempotentCall): Promise<VideoRecord> {
    const earlier = call && (await this.videos.claimCall(video, call));
    if (earlier) return earlier;
    const record = queuedRecord(video, await this.videos.takeTurn(video));
    if (!(await this.videos.put(record, limit))) {
      if (call) await this.videos.releaseCall(video, call);
      throw new LimitError(limit);
    }
    await this.enqueue(record);
    await this.tell({ type: "status", video: record });
    return record;
  }

  earlier(owner: string, call: IdempotentCall): Promise<VideoRecord | undefined> {
    return this.videos.earlier(owner, call);
  }

  numActive(owner: string): Promise<number> {
    return this.videos.numActive(owner);
  }

  get(id: string): Promise<VideoRecord | undefined> {
    return this.videos.get(id);
  }

  list(query: ListQuery): Promise<VideoRecord[]> {
    return this.videos.list(query);
  }

  positionOf(video: VideoRecord): Promise<number> {
    return this.videos.positionOf(video);
  }

  counts() {
    return this.videos.counts();
  }

  async cancel(id: string): Promise<VideoRecord | undefined> {
    const error = { code: "cancelled", message: "The video was cancelled." };
    const cancelled = await this.videos.update(id, () => ({ status: "failed", error, completedAt: Date.now() }));
    if (!cancelled) return this.videos.get(id);
    await this.redis.publish(NAMES.cancels, id);
    await this.noteEnd(cancelled);
    // One that is being made has a lock; its worker leaves it.
    await this.queue.remove(id).catch(() => {});
    return cancelled;
  }

  async remove(id: string): Promise<void> {
    const video = await this.cancel(id);
    if (!video) return;
    await this.videos.remove(video);
    await this.files.remove(id);
    await this.tell({ type: "deleted", id, owner: video.owner });
  }

  isReachable(): boolean {
    return this.redis.status === "ready";
  }

  async isReady(): Promise<boolean> {
    return !this.isDraining && this.isReachable();
  }

  /** Has this process make videos too; it is stopped with the queue. */
  workHere(worker: { stop(waitMs: number): Promise<void> }): void {
    this.worker = worker;
  }

  async drain(waitMs: number): Promise<void> {
    this.isDraining = true;
    await this.worker?.stop(waitMs);
  }

  /** Tells all servers. */
  async tell(event: VideoEvent): Promise<void> {
    await this.redis.publish(NAMES.events, JSON.stringify(event));
  }

  /** Tells of a video's end, and queues its webhook. */
  async noteEnd(video: VideoRecord): Promise<void> {
    await this.deliver(video);
    await this.tell({ type: "status", video });
  }

  /** Queues the webhook of a video that has ended; a second one of the same video is none. */
  async deliver(video: VideoRecord): Promise<void> {
    const delivery = deliveryOf(video);
    if (delivery) await this.webhooks.add(QUEUES.webhooks, delivery, { ...WEBHOOK_JOB, jobId: delivery.id });
  }

  /** Ends the listening. */
  async close(): Promise<void> {
    clearInterval(this.sweeper);
    this.listener.disconnect();
    await this.queue.close();
    await this.webhooks.close();
  }

  private async enqueue(video: VideoRecord): Promise<void> {
    const { id } = video;
    await this.queue.add(
      QUEUES.videos,
      { id },
      { jobId: id, priority: orderOf(video), removeOnComplete: true, removeOnFail: true },
    );
  }

  private async sweep(): Promise<void> {
    for (const status of ["queued", "in_progress"] as const)
      for (const video of await this.videos.list({ owner: undefined, status, order: "asc", limit: MAX_SWEPT }))
        if (Date.now() - (video.startedAt ?? video.createdAt) > SWEEP_AGE_MS && !(await this.queue.getJob(video.id)))
          await this.enqueue(video);
  }
}
