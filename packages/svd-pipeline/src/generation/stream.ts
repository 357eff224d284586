import type { DecodedChunk, GeneratedVideo, GenerateOptions, GenerationEvent } from "../types";

/** Events that nobody has read yet, and somebody who waits for the next one. */
class Events {
  private readonly waiting: GenerationEvent[] = [];
  private wake = () => {};

  push(event: GenerationEvent): void {
    this.waiting.push(event);
    this.wake();
  }

  /** Ends the waiting, whether there is an event or not. */
  stir(): void {
    this.wake();
  }

  take(): GenerationEvent | undefined {
    return this.waiting.shift();
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}

/** The options with callbacks that also make events; the caller's own are called as before. */
function reporting(options: GenerateOptions, events: Events, signal: AbortSignal): GenerateOptions {
  const { onProgress, onPreview, onFrames, previewEvery } = options;
  const wantsPreviews = onPreview !== undefined || previewEvery !== undefined;
  return {
    ...options,
    signal,
    onProgress(event) {
      events.push({ type: "progress", ...event });
      return onProgress?.(event);
    },
    onFrames(chunk: DecodedChunk) {
      events.push({ type: "frames", ...chunk });
      return onFrames?.(chunk);
    },
    ...(wantsPreviews && {
      onPreview(preview) {
        events.push({ type: "preview", ...preview });
        return onPreview?.(preview);
      },
    }),
  };
}

/**
 * Yields the events of a generation, the finished video last. Who leaves the loop early cancels the generation and waits until it has
 * ended.
 *
 * @throws what `generate` throws
 */
export async function* generationEvents(
  options: GenerateOptions,
  generate: (options: GenerateOptions) => Promise<GeneratedVideo>,
): AsyncGenerator<GenerationEvent, void, undefined> {
  const left = new AbortController();
  const signals = [left.signal, ...(options.signal ? [options.signal] : [])];
  const events = new Events();
  let ended = false;
  const work = generate(reporting(options, events, AbortSignal.any(signals)))
    .then((video) => events.push({ type: "video", video }))
    .finally(() => {
      ended = true;
      events.stir();
    });
  // Its error is thrown below, once the events before it are read.
  work.catch(() => undefined);
  try {
    for (;;) {
      const event = events.take();
      if (event) yield event;
      else if (ended) break;
      else await events.next();
    }
    await work;
  } finally {
    left.abort();
    await work.catch(() => undefined);
  }
}
