import type { Device } from "@vd/kernels-native";
import { describeDenoising, nextWayToDenoise } from "../stages/choose-denoising";
import { isOutOfMemory } from "../stages/out-of-memory";
import type { GenerationRun } from "./context";
import { memoryAdvice } from "./memory-advice";

/**
 * Denoises; where the device runs out of memory after all, once more from the same beginning in the next way that takes less, with the same
 * results. mayRepeat: whether a repetition finds everything as it was.
 *
 * @throws VdError `memory` with what would fit, where there is no way that takes less; what `body` throws
 */
export async function denoiseWithinMemory<T>(
  run: GenerationRun,
  device: Device,
  body: () => Promise<T>,
  mayRepeat: () => boolean = () => true,
): Promise<T> {
  const { context, noise, progress } = run;
  const [position, callsMade] = [noise.position(), { ...run.callsMade }];
  for (;;) {
    const { rowsApart = false } = context.shape;
    const way = { rowsApart, streamBytes: context.streamBytes ?? 0 };
    try {
      return await body();
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      const next = mayRepeat() ? nextWayToDenoise(context.shape, way) : undefined;
      // The CPU has its weights where they are.
      if (!next || (device.kind === "cpu" && next.streamBytes > 0)) throw await memoryAdvice(context, device, error);
      const [before, after] = [way, next].map(describeDenoising);
      const message = `The device ran out of memory denoising ${before}; now ${after}.`;
      progress.report("denoise", 0, context.sampling.sampler.numSteps, { message });
      context.shape = { ...context.shape, rowsApart: next.rowsApart };
      context.streamBytes = next.streamBytes;
      await noise.goOnFrom(position);
      Object.assign(run.callsMade, callsMade);
      // What was loaded ahead would be in the way, as would weights that nobody uses.
      await run.loader.dropAhead();
      await device.trim();
    }
  }
}
