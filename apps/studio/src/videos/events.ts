import { hasEnded, type VideoRecord, type WebhookState } from "./record";

/** How far the work on a video is. */
export interface VideoProgress {
  phase: "load" | "encode" | "denoise" | "decode" | "write";
  step: number;
  steps: number;
  /** Of the whole run, 0 to 1. */
  fraction: number;
  /** Until its end; null while unknown. */
  etaSeconds: number | null;
}

/** A look at an unfinished video. */
export interface VideoPreview {
  step: number;
  steps: number;
  width: number;
  height: number;
  /** A `data:` address. */
  url: string;
}

/** What happens to a video. */
export type VideoEvent =
  | { type: "status"; video: VideoRecord }
  | { type: "progress"; id: string; owner: string; progress: VideoProgress }
  | { type: "preview"; id: string; owner: string; preview: VideoPreview }
  | { type: "webhook"; id: string; owner: string; webhook: WebhookState }
  | { type: "deleted"; id: string; owner: string };

/** Hears of events. */
export type VideoListener = (event: VideoEvent) => void;

/** The last that is known of a video that is being made. */
export interface VideoMoment {
  progress?: VideoProgress;
  preview?: VideoPreview;
}

/** Hands events on to whoever listens, and keeps the last progress and preview of each video that has not ended. */
export class VideoEvents {
  private readonly listeners = new Set<VideoListener>();
  private readonly byVideo = new Map<string, Set<VideoListener>>();
  private readonly moments = new Map<string, VideoMoment>();

  /** Tells all listeners. */
  publish(event: VideoEvent): void {
    this.note(event);
    const id = event.type === "status" ? event.video.id : event.id;
    for (const listener of this.listeners) listener(event);
    for (const listener of this.byVideo.get(id) ?? []) listener(event);
  }

  /** Listens to one video, or to all; returns what ends it. */
  subscribe(listener: VideoListener, id?: string): () => void {
    if (id === undefined) {
      this.listeners.add(listener);
      return () => this.listeners.delete(listener);
    }
    const own = this.byVideo.get(id) ?? new Set();
    this.byVideo.set(id, own.add(listener));
    return () => {
      own.delete(listener);
      if (own.size === 0 && this.byVideo.get(id) === own) this.byVideo.delete(id);
    };
  }

  /** Returns the last progress and preview of a video; empty where nothing is known. */
  momentOf(id: string): VideoMoment {
    return this.moments.get(id) ?? {};
  }

  private note(event: VideoEvent): void {
    if (event.type === "deleted") this.moments.delete(event.id);
    else if (event.type === "status") {
      // A second attempt begins anew, so that its first event does not show the end of the first one.
      if (hasEnded(event.video) || event.video.status === "queued") this.moments.delete(event.video.id);
    } else if (event.type !== "webhook") {
      const { [event.type]: value } = event as unknown as VideoMoment;
      this.moments.set(event.id, { ...this.momentOf(event.id), [event.type]: value });
    }
  }
}
