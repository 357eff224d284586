import { SingleBar } from "cli-progress";
import type { Io } from "../io";
import { formatPace, formatStep } from "./lines";
import type { Reporter } from "./reporter";
import { type Pace, StageClock, type StageEvent } from "./stage-clock";
import { formatDuration } from "./units";

/** Reports with one moving bar per stage, for terminals. A finished stage's bar stays as a line with its time. */
export function barReporter(io: Io): Reporter {
  const clock = new StageClock(io.nowUs);
  let current: { stage: string; bar: SingleBar; startUs: number } | undefined;
  const finish = () => {
    current?.bar.stop();
    current = undefined;
  };
  // The bar owns its line: it must be off before another line is written.
  const line = (text: string) => {
    finish();
    io.stderr.write(`${text}\n`);
  };
  return {
    progress(event) {
      const pace = clock.update(event);
      if (current?.stage !== event.stage) {
        finish();
        current = { stage: event.stage, bar: makeBar(io), startUs: io.nowUs() };
        current.bar.start(event.steps, event.step, payloadOf(event, pace, 0));
      }
      const elapsedUs = io.nowUs() - current.startUs;
      current.bar.setTotal(event.steps);
      current.bar.update(event.step, payloadOf(event, pace, elapsedUs));
      if (event.step === event.steps) finishStage();
    },
    note: line,
    warning: (text) => line(`Warning: ${text}.`),
    preview() {},
    close: finish,
  };
  /** Stops the bar but keeps its stage, so that a late event of the same stage draws no second bar. */
  function finishStage(): void {
    current?.bar.stop();
  }
}

function makeBar(io: Io): SingleBar {
  return new SingleBar({
    format: "{stage} [{bar}] {count}  {pace}",
    stream: io.stderr as unknown as NodeJS.WritableStream,
    barsize: 28,
    barCompleteChar: "=",
    barIncompleteChar: " ",
    hideCursor: false,
    gracefulExit: false,
  });
}

function payloadOf({ stage, step, steps, message }: StageEvent, { stepUs, etaUs }: Pace, elapsedUs: number) {
  const parts: string[] = [];
  if (stepUs !== undefined && stepUs > 0 && steps > 1) parts.push(formatPace(stage, stepUs));
  if (step === steps && elapsedUs > 0) parts.push(`in ${formatDuration(elapsedUs)}`);
  else if (step < steps && etaUs !== undefined) parts.push(`ETA ${formatDuration(etaUs)}`);
  if (message) parts.push(message);
  return { stage: stage.padEnd(8), count: formatStep(stage, step, steps), pace: parts.join("  ") };
}
