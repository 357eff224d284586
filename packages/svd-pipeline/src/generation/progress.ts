import { observed } from "@vd/tensor";
import type { GenerateOptions, ProgressEvent } from "../types";

/** What a profiler calls the parts of a generation, by their names among the timings. */
const SCOPES: Readonly<Record<string, string>> = {
  image: "image decode",
  embed: "CLIP",
  encode: "VAE encode",
  decode: "VAE decode",
};

/** The clock of one generation, running since it was made: progress events, the times of the parts, and their scopes in a
 *  profiler. */
export class Progress {
  /** What each part took, in µs. */
  readonly timings: Record<string, number> = {};
  private readonly startMs = performance.now();

  constructor(private readonly options: Pick<GenerateOptions, "onProgress" | "profiler">) {}

  /** Tells of `step` of a stage's `steps`. more: what the step took, or what is being done. */
  report(
    stage: ProgressEvent["stage"],
    step: number,
    steps: number,
    more: Pick<ProgressEvent, "stepUs" | "message"> = {},
  ): void {
    const elapsedUs = (performance.now() - this.startMs) * 1000;
    this.options.onProgress?.({ stage, step, steps, elapsedUs, ...more });
  }

  /** Runs a part whose time counts among the timings. */
  async timed<T>(name: string, body: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const result = await this.scope(SCOPES[name] ?? name, body);
    this.timings[name] = (performance.now() - start) * 1000;
    return result;
  }

  /** Runs a part of the work under the profiler's eyes, if there is one. */
  scope<T>(name: string, body: () => T): T {
    return observed(this.options.profiler, name, body);
  }
}
