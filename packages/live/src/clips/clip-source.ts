import type { ClipChanges, EndlessClip, EndlessState, EndlessVideo } from "@vd/svd-pipeline";

/** A clip that is played, and what would make it again. */
export interface PlayedClip extends EndlessClip {
  before: EndlessState;
  changes: ClipChanges;
  /** Milliseconds that it took. */
  ms: number;
}

/** Makes clips ahead of their time, one at a time, and never more than one that nobody plays. */
export class ClipSource {
  private stop = new AbortController();
  private next: Promise<PlayedClip> | undefined;
  /** What the clip was told that is made ahead. */
  private told: ClipChanges = {};
  /** What the clips are told that are begun next, in their order. */
  private queue: ClipChanges[] = [];

  constructor(private readonly video: EndlessVideo) {}

  /** Tells the clip that is begun next. */
  tell(changes: ClipChanges): void {
    const [first = {}, ...others] = this.queue;
    const isOlder = ([name]: [string, unknown]) => !Object.hasOwn(changes, name);
    const older = others.map((each) => Object.fromEntries(Object.entries(each).filter(isOlder)));
    this.queue = [{ ...first, ...changes }, ...older];
  }

  /** What clips are told from the one that is made ahead on. */
  get later(): ClipChanges[] {
    return this.next ? [this.told, ...this.queue] : this.queue;
  }

  /** Takes what clips are told in place of what was told before. */
  restore(changes: readonly ClipChanges[]): void {
    this.queue = [...changes];
  }

  /** Takes the clip that was made ahead, or waits for it, and begins the one after it. */
  async take(): Promise<PlayedClip> {
    const clip = await (this.next ?? this.begin());
    this.next = undefined;
    this.begin();
    return clip;
  }

  /** Ends the clip under way within a step; what was made ahead is dropped. */
  async cancel(): Promise<void> {
    this.stop.abort();
    await this.next?.catch(() => undefined);
    this.next = undefined;
    this.stop = new AbortController();
  }

  /** Ends the clip under way within a step, for good. */
  end(): void {
    this.stop.abort();
  }

  private begin(): Promise<PlayedClip> {
    this.told = this.queue.shift() ?? {};
    this.next = this.make(this.told);
    // Told to whoever takes it.
    this.next.catch(() => undefined);
    return this.next;
  }

  private async make(changes: ClipChanges): Promise<PlayedClip> {
    const before = this.video.state();
    const begun = performance.now();
    const clip = await this.video.nextClip(changes, this.stop.signal);
    return { ...clip, before, changes, ms: performance.now() - begun };
  }
}
