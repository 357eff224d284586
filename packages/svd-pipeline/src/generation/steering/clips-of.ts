import type { GenerationContext } from "../context";
import { lookingBack } from "./known-frames";
import { type Clip, planClips, planInterpolation } from "./timeline";

/** Returns the clips of a generation, and those that make frames between all others. */
export function clipsOf({ checked, options, shape }: GenerationContext): { clips: Clip[]; between: Clip[] } {
  const { numFrames, clipFrames } = shape;
  const clips = planClips({
    ...{ numPast: options.pastFrames?.length ?? 0, numFrames, clipFrames: clipFrames!, overlap: checked.overlap },
    ...{ isLoop: checked.loop, hasLast: options.lastImage !== undefined },
  });
  const numBetween = checked.loop ? 2 * numFrames + 1 : 2 * numFrames - 1;
  const isBetween = checked.interpolation === "denoise" && numFrames > 1;
  return { clips, between: isBetween ? planInterpolation(numBetween, clipFrames!) : [] };
}

/** Returns the first frame of each clip but the first in the finished video; 0 for the one that ties a loop together. */
export function seamsOf(context: GenerationContext): number[] {
  const { shape, checked, options } = context;
  if (shape.clipFrames === undefined) return [];
  const numPast = options.pastFrames?.length ?? 0;
  const made = new Set(Array.from({ length: numPast }, (_, i) => i));
  const seams: number[] = [];
  for (const { positions } of clipsOf(context).clips) {
    const first = positions.find((at) => at !== undefined && !made.has(at));
    for (const at of positions) if (at !== undefined) made.add(at);
    if (first !== undefined && first > numPast) seams.push(first - numPast);
  }
  const perFrame = checked.interpolation === "none" ? 1 : 2;
  return [...seams.map((at) => perFrame * at), ...(checked.loop ? [0] : [])];
}

/** Returns how often the denoiser is called for one call of the sampler, all clips together. */
export function callsPerStepOf(context: GenerationContext): number {
  if (context.shape.clipFrames === undefined) return 1;
  const { sampler } = context.sampling;
  const { clips, between } = clipsOf(context);
  const callsOf = ({ isBounded }: Clip) => 1 + (isBounded ? lookingBack(sampler) / sampler.numModelCalls : 0);
  return [...clips, ...between].reduce((sum, clip) => sum + callsOf(clip), 0);
}
