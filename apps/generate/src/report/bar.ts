import { OverallClock, type StageEvent } from "@vd/svd-pipeline/progress";
import { SingleBar } from "cli-progress";
import type { Io } from "../io";
import type { Paint } from "./colours";
import { formatPace, formatStep, warningLine } from "./lines";
import type { Reporter } from "./reporter";
import { type Pace, StageClock } from "./stage-clock";
import { formatDuration } from "./units";

/** Between two looks at the clock: stages that report no steps move too. */
const REDRAW_MS = 100;

/** What stands beside the bar is at most this wide: with it a line fits into 80 columns. */
const BAR_WIDTH = 24;
const NARROW_BAR_WIDTH = 10;
const WIDE_ENOUGH = 72;

/**
 * Reports with one moving bar for the whole run, for terminals: how much is done, what is being done and how long it
 * still takes. A download before it has a bar of its own, in bytes.
 */
export function barReporter(io: Io, paint: Paint): Reporter {
  const stages = new StageClock(io.nowUs);
  const overall = new OverallClock(io.nowUs);
  let bar: SingleBar | undefined;
  let current: { event: StageEvent; pace: Pace } | undefined;
  const timer = setInterval(() => draw(), REDRAW_MS);
  timer.unref?.();
  const erase = () => {
    bar?.stop();
    bar = undefined;
  };
  const draw = () => {
    if (!current) return;
    const { event, pace } = current;
    const isDownload = event.stage === "download";
    const [fraction, etaUs] = isDownload
      ? [event.step / Math.max(1, event.steps), pace.etaUs]
      : [overall.pace().fraction, overall.pace().etaUs];
    const text = textOf(event, pace, etaUs, fraction);
    bar ??= startBar(io, paint, fraction, text);
    bar.update(fraction, { text });
  };
  // The bar owns its line: it must be off before another line is written.
  const line = (text: string) => {
    erase();
    io.stderr.write(`${text}\n`);
    draw();
  };
  return {
    expect: (plan) => overall.expect(plan),
    progress(event) {
      if (current?.event.stage === "download" && event.stage !== "download") erase();
      current = { event, pace: stages.update(event) };
      overall.update(event);
      draw();
    },
    note: line,
    warning: (text) => line(warningLine(text, paint)),
    preview() {},
    pause() {
      erase();
      current = undefined;
    },
    close() {
      clearInterval(timer);
      erase();
      current = undefined;
    },
  };
}

function startBar(io: Io, paint: Paint, fraction: number, text: string): SingleBar {
  const barsize = (io.stderr.columns ?? 80) >= WIDE_ENOUGH ? BAR_WIDTH : NARROW_BAR_WIDTH;
  const bar = new SingleBar({
    format: (_, { progress }, payload: { text: string }) => {
      const numDone = Math.round(progress * barsize);
      const done = paint("good", "=".repeat(numDone));
      return `[${done}${" ".repeat(barsize - numDone)}] ${payload.text}`;
    },
    stream: io.stderr as unknown as NodeJS.WritableStream,
    barsize,
    hideCursor: false,
    gracefulExit: false,
    clearOnComplete: true,
    autopadding: false,
  });
  bar.start(1, fraction, { text });
  return bar;
}

/** `42 %  denoise 3/10  6.21 it/s  ETA 2.10 s`. */
function textOf(event: StageEvent, { stepUs }: Pace, etaUs: number | undefined, fraction: number): string {
  const { stage, step, steps, message } = event;
  const parts = [`${String(Math.floor(fraction * 100)).padStart(3)} %`];
  parts.push(steps > 1 || stage === "download" ? `${stage} ${formatStep(stage, step, steps)}` : stage);
  if (stepUs !== undefined && stepUs > 0 && steps > 1) parts.push(formatPace(stage, stepUs));
  if (etaUs !== undefined && fraction < 1) parts.push(`ETA ${formatDuration(etaUs)}`);
  // A folder's name is no news and may be longer than the line.
  if (message && stage === "download") parts.push(message.split("/").slice(-1)[0]!);
  return parts.join("  ");
}
