import type { ProgressEvent } from "../types";

/** The pipeline's stages, and the writing of files, which is its caller's. */
export type StageEvent = Omit<ProgressEvent, "stage"> & { stage: ProgressEvent["stage"] | "write" };

/** How far a whole run is. */
export interface OverallPace {
  /** 0 to 1; never falls. */
  fraction: number;
  /** Until the end; undefined while nothing is known, or when the last stage takes longer than expected. */
  etaUs: number | undefined;
}

type Stage = Exclude<StageEvent["stage"], "download">;

/** The stages of a run in their order; a download is no part of it: its length says nothing of the rest. */
const STAGES: readonly Stage[] = ["load", "encode", "denoise", "decode", "write"];

/** How a plan's stages are called in events, by the first word of their names: `embed image`, `denoise, unguided`. */
const STAGE_OF_PLAN: Readonly<Record<string, Stage>> = { embed: "encode", image: "encode" };

/** Shares of the time where nothing else is known: about those of the bundled model on a CPU. Also what loading and
 *  writing, which no plan has, take in addition to the plan. */
const USUAL_SHARES = { load: 0.02, encode: 0.02, denoise: 0.7, decode: 0.2, write: 0.06 } as const;

/** Up to this part of its expected time a stage moves evenly; what takes longer slows down and never seems done. */
const EVEN_PART = 0.9;

/** Before the last event nothing is quite done. */
const ALMOST_DONE = 0.99;
const LEAST_ETA_US = 50_000;

/**
 * Measures how far a whole run is. Work that reports steps is measured; work that reports none, such as decoding in one
 * piece, moves with the time that it is expected to take. What was expected of a stage is corrected by what the stages
 * before it took.
 */
export class OverallClock {
  readonly #nowUs: () => number;
  readonly #startUs: number;
  /** What each stage is expected to take; undefined before there is a plan. */
  #expectedUs: ReadonlyMap<Stage, number> | undefined;
  /** Measured over expected time. */
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
      const [kind = name] = name.split(/[ ,]/);
      const stage = STAGE_OF_PLAN[kind] ?? (kind as Stage);
      if (STAGES.includes(stage)) planned.set(stage, (planned.get(stage) ?? 0) + estimatedUs);
    }
    const total = [...planned.values()].reduce((sum, us) => sum + us, 0);
    if (!(total > 0)) return;
    this.#expectedUs = new Map(STAGES.map((stage) => [stage, planned.get(stage) ?? total * USUAL_SHARES[stage]]));
  }

  /** Takes an event in. */
  update({ stage, step, steps }: StageEvent): void {
    if (stage === "download") return;
    const nowUs = this.#nowUs();
    if (stage !== this.#stage) {
      this.#stage = stage;
      this.#stageStartUs = nowUs;
    }
    this.#step = step;
    this.#steps = Math.max(1, steps);
    const expectedUs = ((this.#expectedUs?.get(stage) ?? 0) * step) / this.#steps;
    // Loading and encoding are too short to say how fast the device computes.
    if (stage !== "load" && stage !== "encode" && expectedUs > 0)
      this.#slowness = (nowUs - this.#stageStartUs) / expectedUs;
  }

  /** How far the run is now. */
  pace(): OverallPace {
    const restUs = this.#restUs();
    const fraction = restUs === undefined ? this.#usualFraction() : this.#timeFraction(restUs);
    this.#fraction = Math.max(this.#fraction, this.#isOver() ? 1 : Math.min(fraction, ALMOST_DONE));
    const isKnown = restUs !== undefined && restUs >= LEAST_ETA_US && this.#slowness !== undefined;
    return { fraction: this.#fraction, etaUs: isKnown ? Math.round(restUs) : undefined };
  }

  #isOver(): boolean {
    return this.#stage === "write" && this.#step >= this.#steps;
  }

  #timeFraction(restUs: number): number {
    const elapsedUs = this.#nowUs() - this.#startUs;
    return elapsedUs / Math.max(1, elapsedUs + restUs);
  }

  /** By steps and the usual shares alone. */
  #usualFraction(): number {
    const earlier = STAGES.slice(0, STAGES.indexOf(this.#stage));
    const done = earlier.reduce((sum, stage) => sum + USUAL_SHARES[stage], 0);
    return done + (USUAL_SHARES[this.#stage] * this.#step) / this.#steps;
  }

  #restUs(): number | undefined {
    if (this.#expectedUs === undefined) return undefined;
    const later = STAGES.slice(STAGES.indexOf(this.#stage) + 1);
    return later.reduce((sum, stage) => sum + this.#wholeUs(stage), this.#restOfStageUs());
  }

  /** Expected time of a stage as a whole, on this machine as far as it is known. */
  #wholeUs(stage: Stage): number {
    return (this.#expectedUs?.get(stage) ?? 0) * (this.#slowness ?? 1);
  }

  #restOfStageUs(): number {
    if (this.#step >= this.#steps) return 0;
    const spentUs = this.#nowUs() - this.#stageStartUs;
    const wholeUs = this.#wholeUs(this.#stage);
    const evenUs = wholeUs * EVEN_PART;
    if (spentUs <= evenUs) return wholeUs - spentUs;
    const slowUs = wholeUs - evenUs;
    return slowUs * Math.exp((evenUs - spentUs) / Math.max(1, slowUs));
  }
}
