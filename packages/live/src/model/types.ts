/** A start state of a model. */
export interface LiveStart {
  readonly name: string;
  /** What the model's live.json says of it besides, such as `palette` and `time`. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Its picture: the context frames side by side, oldest left. */
  readonly file: string;
}

/** Every kind of model. `game`: frames follow from those before and from actions. `pictures`: each frame is made of a picture that is pushed
 *  and of words. `clips`: a picture begins to move; frames are made clip by clip, and each clip goes on from the one before. */
export const LIVE_KINDS = ["game", "pictures", "clips"] as const;

/** What a live model is and can do, as its live.json says, or its networks' configurations. */
export interface LiveModelInfo {
  readonly kind: (typeof LIVE_KINDS)[number];
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
