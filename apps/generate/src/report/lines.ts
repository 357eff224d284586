import { OverallClock, type StageEvent } from "@vd/svd-pipeline/progress";
import type { Io } from "../io";
import type { Paint } from "./colours";
import type { Reporter } from "./reporter";
import { type Pace, StageClock } from "./stage-clock";
import { formatBytes, formatDuration, formatRate } from "./units";

/** The least time between two lines about the same stage; its first and last step are always told. */
const LINE_INTERVAL_US = 1e6;

/** Reports in plain lines, for logs and pipes. */
export function lineReporter(io: Io, paint: Paint): Reporter {
  const clock = new StageClock(io.nowUs);
  const overall = new OverallClock(io.nowUs);
  let lastStage = "";
  let lastLineUs = 0;
  return {
    expect: (plan) => overall.expect(plan),
    progress(event) {
      const pace = clock.update(event);
      overall.update(event);
      const isNews = event.stage !== lastStage || event.step === event.steps;
      if (!isNews && io.nowUs() - lastLineUs < LINE_INTERVAL_US) return;
      lastStage = event.stage;
      lastLineUs = io.nowUs();
      const etaUs = event.stage === "download" ? pace.etaUs : overall.pace().etaUs;
      io.stderr.write(`${progressLine(event, { ...pace, etaUs })}\n`);
    },
    note: (text) => io.stderr.write(`${text}\n`),
    warning: (text) => io.stderr.write(`${warningLine(text, paint)}\n`),
    preview: (path, step) => io.stderr.write(`preview  ${path} (step ${step})\n`),
    pause() {},
    close() {},
  };
}

/** @returns `Warning: …`, for every reporter that has lines. */
export const warningLine = (text: string, paint: Paint): string => `${paint("warning", "Warning:")} ${text}.`;

/** @returns `denoise  12/25  6.20 it/s  ETA 2.10 s`, as far as it is known. */
export function progressLine({ stage, step, steps, message }: StageEvent, { stepUs, etaUs }: Pace): string {
  const parts = [stage.padEnd(7), formatStep(stage, step, steps)];
  if (stepUs !== undefined && stepUs > 0 && steps > 1) parts.push(formatPace(stage, stepUs));
  if (etaUs !== undefined) parts.push(`ETA ${formatDuration(etaUs)}`);
  if (message) parts.push(message);
  return parts.join("  ");
}

/** @returns `12/25`; steps of a download are bytes: `1.20 GiB/8.95 GiB`. */
export function formatStep(stage: StageEvent["stage"], step: number, steps: number): string {
  return stage === "download" ? `${formatBytes(step)}/${formatBytes(steps)}` : `${step}/${steps}`;
}

/** @returns `6.21 it/s`, or for a download `45.0 MiB/s`. */
export function formatPace(stage: StageEvent["stage"], stepUs: number): string {
  return stage === "download" ? `${formatBytes(1e6 / stepUs)}/s` : formatRate(stepUs);
}
