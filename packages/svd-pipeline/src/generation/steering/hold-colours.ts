/** What colours are held to, and how. */
export interface ColourHold {
  /** Latents that have the colours to be held, [C,h,w]. */
  anchor: Float32Array;
  numChannels: number;
  /** How much of the drift is taken back, 0 to 1. */
  strength: number;
  /** Frames at the end of a clip that the next one goes on from: their drift is measured. */
  overlap: number;
}

/** Returns the mean of frames, [C,h,w]. */
export function meanFrame(frames: readonly Float32Array[]): Float32Array {
  const mean = new Float32Array(frames[0]!.length);
  for (const frame of frames) for (let i = 0; i < mean.length; i++) mean[i]! += frame[i]! / frames.length;
  return mean;
}

/** By how much the colours of frames differ from the anchor's, channel by channel: the median over all places, which does not see what moves
 *  through a part of the picture. */
function driftOf(frames: readonly Float32Array[], { anchor, numChannels }: ColourHold): number[] {
  const now = meanFrame(frames);
  const area = anchor.length / numChannels;
  return Array.from({ length: numChannels }, (_, channel) => {
    const differences = Float32Array.from(
      { length: area },
      (_, i) => now[channel * area + i]! - anchor[channel * area + i]!,
    );
    return differences.sort()[Math.floor(area / 2)]!;
  });
}

/**
 * Takes the drift of colours out of the frames that a clip has added, in place: nothing of it from the frame before the first, whose
 * colours are held already, all of it from those that the next clip goes on from, and evenly more in between. frames: [C,h,w] each.
 */
export function holdColours(frames: readonly Float32Array[], hold: ColourHold): void {
  const { numChannels, strength, overlap } = hold;
  if (strength === 0 || frames.length === 0) return;
  const last = Math.min(overlap, frames.length);
  const drift = driftOf(frames.slice(-last), hold);
  const rise = frames.length - last + 1;
  frames.forEach((frame, index) => {
    const share = strength * Math.min(1, (index + 1) / rise);
    const area = frame.length / numChannels;
    drift.forEach((value, channel) => {
      for (let i = channel * area; i < (channel + 1) * area; i++) frame[i]! -= share * value;
    });
  });
}
