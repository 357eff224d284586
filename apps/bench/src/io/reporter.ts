import { SingleBar } from "cli-progress";

/** Something that takes text. */
export interface TextOutput {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
}

/** Shows that long work goes on. */
export interface Reporter {
  /** A line of its own. */
  note(text: string): void;
  /** How far the current work is; `done` = `total` ends it. */
  progress(what: string, done: number, total: number): void;
}

/** Between lines of progress where no bar can move. */
const LINE_EVERY_MS = 5000;

/** Lines with the time since the start for files and pipes; a bar under them for terminals. */
export function makeReporter(output: TextOutput, nowMs = () => performance.now()): Reporter {
  const startMs = nowMs();
  const stamp = () => `[${((nowMs() - startMs) / 1000).toFixed(1).padStart(6)} s]`;
  let bar: SingleBar | undefined;
  let lastLineMs = 0;
  const endBar = () => {
    bar?.stop();
    bar = undefined;
  };
  const note = (text: string) => {
    endBar();
    output.write(`${stamp()} ${text}\n`);
  };
  const line = (what: string, done: number, total: number) => {
    if (done < total && nowMs() - lastLineMs < LINE_EVERY_MS) return;
    lastLineMs = nowMs();
    note(`${what}: ${Math.round((100 * done) / total)} %`);
  };
  const move = (what: string, done: number, total: number) => {
    if (!bar) {
      const format = "{what} [{bar}] {percentage} %  ETA {eta_formatted}";
      bar = new SingleBar({ format, stream: output as NodeJS.WritableStream, barsize: 28, gracefulExit: false });
      bar.start(total, done, { what });
    }
    bar.setTotal(total);
    bar.update(done, { what });
    if (done >= total) endBar();
  };
  return { note, progress: output.isTTY ? move : line };
}
