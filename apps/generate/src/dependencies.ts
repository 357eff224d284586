import type { SignalSource } from "./cancellation";
import type { Io } from "./io";
import type { PipelineFactory } from "./model/factory";
import type { ColourVariables } from "./report/colours";
import type { Reporter } from "./report/reporter";

/** All that the command needs from outside; tests replace any of it. */
export interface Dependencies {
  io: Io;
  pipelineFactory: PipelineFactory;
  signals: SignalSource;
  version: string;
  /** Program name or path of ffmpeg. */
  ffmpeg: string;
  /** What the environment says of colours. */
  variables: ColourVariables;
  /** The bytes of standard input. */
  stdin(): AsyncIterable<Uint8Array>;
  /** Writes bytes to standard output. */
  writeBytes(bytes: Uint8Array): Promise<void>;
  /** Shows a file in the program that the desktop has for it. */
  openFile(path: string): Promise<void>;
  /** Largest resident size of this process so far, in bytes. */
  peakRssBytes(): Promise<number>;
}

/** What one run works with. */
export interface Context extends Dependencies {
  reporter: Reporter;
  signal: AbortSignal;
}
