/** State of a download, sent while bytes arrive. */
export interface DownloadProgress {
  /** Name within the repository, e.g. `unet/diffusion_pytorch_model.safetensors`. */
  file: string;
  fileBytes: number;
  receivedBytes: number;
  /** Of all files that this call has to download; files already in the cache are not counted. */
  totalBytes: number;
  /** Includes what an earlier, broken download had left. Falls back when a file must start anew. */
  receivedTotalBytes: number;
}

/** Called with the state of a download: once at the start and the end of each file, and from time to time between. */
export type ProgressListener = (progress: DownloadProgress) => void;

/** Adds up the bytes of several files and tells a listener, at most once per interval and file. */
export class ProgressMeter {
  readonly #files = new Map<string, { fileBytes: number; receivedBytes: number; toldAtMs: number }>();
  readonly #listener: ProgressListener | undefined;
  readonly #intervalMs: number;
  #totalBytes = 0;
  #receivedTotalBytes = 0;

  constructor(listener: ProgressListener | undefined, intervalMs: number) {
    this.#listener = listener;
    this.#intervalMs = intervalMs;
  }

  /** Adds a file to the total. All files are added before the first {@link update}. */
  add(file: string, fileBytes: number): void {
    this.#files.set(file, { fileBytes, receivedBytes: 0, toldAtMs: Number.NEGATIVE_INFINITY });
    this.#totalBytes += fileBytes;
  }

  /** Says that `receivedBytes` of a file are on the disk now. */
  update(file: string, receivedBytes: number): void {
    const state = this.#files.get(file);
    if (state === undefined) return;
    this.#receivedTotalBytes += receivedBytes - state.receivedBytes;
    const restarted = receivedBytes < state.receivedBytes;
    state.receivedBytes = receivedBytes;
    const nowMs = performance.now();
    const due = nowMs - state.toldAtMs >= this.#intervalMs;
    if (!due && !restarted && receivedBytes !== state.fileBytes) return;
    state.toldAtMs = nowMs;
    this.#listener?.({
      file,
      fileBytes: state.fileBytes,
      receivedBytes,
      totalBytes: this.#totalBytes,
      receivedTotalBytes: this.#receivedTotalBytes,
    });
  }
}
