import type { StageEvent } from "@vd/svd-pipeline/progress";

/** How fast a stage goes and how long it still takes; undefined before its first step is done. */
export interface Pace {
  stepUs: number | undefined;
  etaUs: number | undefined;
}

/** Measures the pace of the stage that runs now; another stage starts it anew. */
export class StageClock {
  readonly #nowUs: () => number;
  #stage = "";
  #startStep = 0;
  #startUs = 0;

  constructor(nowUs: () => number) {
    this.#nowUs = nowUs;
  }

  /** @returns the mean time of a step since the stage's first event, and the time that its other steps will take. */
  update({ stage, step, steps, stepUs }: StageEvent): Pace {
    const nowUs = this.#nowUs();
    if (stage !== this.#stage || step < this.#startStep) {
      this.#stage = stage;
      this.#startStep = step;
      this.#startUs = nowUs;
    }
    const numDone = step - this.#startStep;
    const meanUs = numDone > 0 ? (nowUs - this.#startUs) / numDone : stepUs;
    if (meanUs === undefined) return { stepUs: undefined, etaUs: undefined };
    return { stepUs: meanUs, etaUs: Math.round(meanUs * Math.max(0, steps - step)) };
  }
}
