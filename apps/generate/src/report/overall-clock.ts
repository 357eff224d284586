import type { StageEvent } from "./stage-clock";

/** How far a whole run is. */
export interface OverallPace {
  /** 0 to 1; never falls. */
  fraction: number;
  /** Until the end; undefined while nothing is known, or when the last stage takes longer than expected. */
  etaUs: number | undefined;
}

type Stage = StageEvent["stage"];

/** The stages of a run in their order; a download is no part of it: its length says nothing of the rest. */
const STAGES: readonly Stage[] = ["load", "encode", "denoise", "decode", "write"];

/** How a plan's stages are called in events. */
const STAGE_OF_PLAN: Readonly<Record<string, Stage>> = { embed: "encode", image: "encode" };

/** Shares of the time, for runs that nobody has planned yet: those of the bundled model on a CPU. */
const USUAL_SHARES: Readonly<Partial<Record<Stage, number>>> = {
  load: 0.02,
  encode: 0.02,
  denoise: 0.7,
  decode: 0.2,
  write: 0.06,
};

/** Up to this part of its expected time a stage moves evenly; what takes longer slows down and never seems done. */
const EVEN_PART = 0.9;

/**
 * Measures how far a whole run is. Work that reports steps is measured; work that reports none, such as decoding in one
 * piece, moves with the time that it is expected to take. What was expected of a stage is corrected by what the stages
 * before it took.
 */
export class OverallClock {
  readonly #nowUs: () => number;
  readonly #expectedUs = new Map<Stage, number>(Object.entries(USUAL_SHARES) as [Stage, number][]);
  readonly #startUs: number;
  /** Measured over expected time of finished work. */
  #slowness: number | undefined;
  #stage: Stage = "load";
  #stageStartUs: number;
  #step = 0;
  #steps = 1;
  #fraction = 0;

  constructor(nowUs: () => number) {
    this.#nowUs = nowUs;
    this.#startUs = nowUs();
    this.#stageStartUs = this.#startUs;
  }

  /** Says how long stages are expected to take, in µs by their names in a plan. */
  expect(stages: readonly { name: string; estimatedUs: number }[]): void {
    const planned = new Map<Stage, number>();
    for (const { name, estimatedUs } of stages) {
      const stage = STAGE_OF_PLAN[name] ?? (name as Stage);
      if (STAGES.includes(stage)) planned.set(stage, (planned.get(stage) ?? 0) + estimatedUs);
    }
    const total = [...planned.values()].reduce((sum, us) => sum + us, 0);
    if (!(total > 0)) return;
    for (const stage of STAGES) this.#expectedUs.set(stage, planned.get(stage) ?? total * (USUAL_SHARES[stage] ?? 0));
    this.#slowness = undefined;
  }

  /** Takes an event in. */
  update({ stage, step, steps }: StageEvent): void {
    if (!STAGES.includes(stage)) return;
    const nowUs = this.#nowUs();
    if (stage !== this.#stage) {
      this.#stage = stage;
      this.#stageStartUs = nowUs;
    }
    this.#step = step;
    this.#steps = steps;
    const expected = (this.#expectedUs.get(stage) ?? 0) * (step / Math.max(1, steps));
    // Loading is disk and set-up: it says nothing of how fast the device computes.
    if (stage !== "load" && stage !== "encode" && step > 0 && expected > 0)
      this.#slowness = (nowUs - this.#stageStartUs) / expected;
  }

  /** How far the run is now. */
  pace(): OverallPace {
    const elapsedUs = this.#nowUs() - this.#startUs;
    const restUs = this.#restOfStageUs() + this.#restOfOthersUs();
    const fraction = elapsedUs + restUs > 0 ? elapsedUs / (elapsedUs + restUs) : 0;
    this.#fraction = Math.max(this.#fraction, Math.min(fraction, this.#isOver() ? 1 : 0.999));
    const isKnown = this.#slowness !== undefined && restUs >= 1000;
    return { fraction: this.#fraction, etaUs: isKnown ? Math.round(restUs) : undefined };
  }

  #isOver(): boolean {
    return this.#stage === "write" && this.#step >= this.#steps;
  }

  /** Expected time of a stage as a whole, on this machine as far as it is known. */
  #expected(stage: Stage): number {
    return (this.#expectedUs.get(stage) ?? 0) * (this.#slowness ?? 1);
  }

  #restOfStageUs(): number {
    if (this.#step >= this.#steps) return 0;
    const spentUs = this.#nowUs() - this.#stageStartUs;
    const wholeUs = this.#expected(this.#stage);
    const evenUs = wholeUs * EVEN_PART;
    if (spentUs <= evenUs) return wholeUs - spentUs;
    const slowUs = wholeUs - evenUs;
    return slowUs * Math.exp((evenUs - spentUs) / Math.max(1, slowUs));
  }

  #restOfOthersUs(): number {
    const later = STAGES.slice(STAGES.indexOf(this.#stage) + 1);
    return later.reduce((sum, stage) => sum + this.#expected(stage), 0);
  }
}
