import { readFile } from "node:fs/promises";
import { type Device, VdError } from "@vd/kernels-native";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { readPicture } from "../io/pictures";
import { relativeL2 } from "../stats/summary";
import { type Contender, peerName } from "./contenders";
import { MemoryWatch } from "./memory-watch";
import { loadOptionsOf, type MeasureOptions, type PeerMode } from "./options";
import type { PeerProcess } from "./peer-process";

/** Steps of the runs that only warm up. */
export const WARM_UP_STEPS = 2;
const MAX_GUIDANCE = 3;

/** Returns the options of a generation, alike for all contenders. */
export function generateOptions({ numFrames, width, height, seed, distilled }: MeasureOptions, steps: number) {
  const motion = { fps: 7, motionBucketId: 127, noiseAugStrength: 0.02 };
  const size = { width, height, fit: "stretch" as const };
  return { numFrames, ...size, steps, seed, ...motion, minGuidance: 1, maxGuidance: distilled ? 1 : MAX_GUIDANCE };
}

/** A generation of our pipeline that somebody else's denoiser takes part in. */
export interface OtherDenoiser {
  name: string;
  denoiser: string;
  /** Frames of a short run of ours, to compare with. */
  frames: Uint8Array | undefined;
}

/** Our pipeline from a picture file to frames in host memory. A short generation warms up, shows the memory and gives
 *  `frames`. other: instead of our own denoiser. */
export async function ourGeneration(
  device: Device,
  options: MeasureOptions,
  image: string,
  signal: AbortSignal,
  other?: OtherDenoiser,
): Promise<Contender & { frames: Uint8Array }> {
  const watch = await MemoryWatch.start(device);
  const startMs = performance.now();
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(options.model, {
    ...{ ...loadOptionsOf(options), device: options.device, signal },
    ...(other ? { denoiser: other.denoiser, precision: "full" } : {}),
  });
  const generate = async (steps: number) => {
    const picture = await readPicture(image, await readFile(image));
    return pipeline.generate({ image: picture, ...generateOptions(options, steps), signal });
  };
  try {
    const loadUs = (performance.now() - startMs) * 1000;
    const firstMs = performance.now();
    const { peakBytes: plannedBytes, data: frames } = await watch.during(() => generate(WARM_UP_STEPS));
    const error = other?.frames ? { error: relativeL2(frames, other.frames) } : {};
    const facts = { loadUs, firstUs: (performance.now() - firstMs) * 1000, plannedBytes, ...error };
    return {
      name: other?.name ?? "ours",
      frames,
      facts: { ...facts, peakBytes: watch.peakBytes ?? plannedBytes },
      async run(repeats) {
        const times: number[] = [];
        for (let i = 0; i < repeats; i++) {
          const start = performance.now();
          await generate(options.steps);
          times.push((performance.now() - start) * 1000);
        }
        return times;
      },
      close: async () => pipeline.dispose(),
    };
  } catch (error) {
    pipeline.dispose();
    throw error;
  }
}

/**
 * The peer's pipeline on the same picture.
 *
 * @throws VdError with its reason
 */
export async function peerGeneration(
  peer: PeerProcess,
  mode: PeerMode,
  { numFrames: frames, width, height, steps, seed }: MeasureOptions,
  image: string,
): Promise<Contender> {
  const request = { part: "e2e", mode, image, frames, width, height, seed, steps };
  const { loadUs, firstUs, peakBytes } = await peer.request("prepare", request);
  return {
    name: peerName(mode),
    facts: {
      loadUs: Number(loadUs),
      firstUs: Number(firstUs),
      ...(typeof peakBytes === "number" ? { peakBytes } : {}),
    },
    run: async (repeats) => (await peer.request("run", { ...request, repeats })).timesUs as number[],
    close: async () => {},
  };
}

/** Opens the model, begins a generation and stops before the denoiser's first call, which `onLaunch` tells of. */
export async function firstLaunch(options: MeasureOptions, image: string, onLaunch: () => void): Promise<void> {
  const { device } = options;
  const pipeline = await StableVideoDiffusionPipeline.fromPretrained(options.model, {
    ...loadOptionsOf(options),
    device,
  });
  const stop = new AbortController();
  try {
    await pipeline.generate({
      ...{ image: await readPicture(image, await readFile(image)), signal: stop.signal },
      ...generateOptions(options, WARM_UP_STEPS),
      onProgress: ({ stage, step }) => {
        if (stage !== "denoise" || step !== 0) return;
        onLaunch();
        stop.abort();
      },
    });
  } catch (error) {
    if (!(error instanceof VdError && error.code === "cancelled")) throw error;
  } finally {
    pipeline.dispose();
  }
}
