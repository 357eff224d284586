/** A start state of a model. */
export interface LiveStart {
  readonly name: string;
  /** What the model's live.json says of it besides, such as `palette` and `time`. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Its picture: the context frames side by side, oldest left. */
  readonly file: string;
}

/** What a live model is and can do, as its live.json says. */
export interface LiveModelInfo {
  /** The folder's name, e.g. `tiny-live`. */
  readonly name: string;
  /** Where it was read from. */
  readonly folder: string;
  readonly width: number;
  readonly height: number;
  /** Frames a second that it was made for. */
  readonly fps: number;
  readonly contextFrames: number;
  readonly sigmaData: number;
  readonly defaultSteps: number;
  /** Noise levels by the number of steps, falling. */
  readonly sigmas: ReadonlyMap<number, readonly number[]>;
  /** By their number; the first is doing nothing. */
  readonly actions: readonly string[];
  /** Parts of actions by the names of keys (`KeyboardEvent.code`). */
  readonly keys: Readonly<Record<string, string>>;
  readonly starts: readonly LiveStart[];
}
