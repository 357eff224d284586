/** What colours are held to, and how. */
export interface ColourHold {
  /** Colours to be held, channel by channel. */
  anchor: readonly ChannelColours[];
  /** How much of the drift is taken back, 0 to 1. */
  strength: number;
  /** Frames at the end of a clip that the next one goes on from: their drift is measured. */
  overlap: number;
}

/** What a channel of latents looks like over all places: its brightness and its contrast. */
export interface ChannelColours {
  mean: number;
  deviation: number;
}

/** A channel's contrast may be taken for drifted by no more than this: beyond it the scene is another one. */
const MOST_GAIN = 1.25;

/** Returns the colours of frames, [C,h,w] each, channel by channel. */
export function coloursOf(frames: readonly Float32Array[], numChannels: number): ChannelColours[] {
  const area = frames[0]!.length / numChannels;
  return Array.from({ length: numChannels }, (_, channel) => {
    let [sum, squares] = [0, 0];
    for (const frame of frames)
      for (let i = channel * area; i < (channel + 1) * area; i++) {
        sum += frame[i]!;
        squares += frame[i]! ** 2;
      }
    const count = frames.length * area;
    const mean = sum / count;
    return { mean, deviation: Math.sqrt(Math.max(0, squares / count - mean ** 2)) };
  });
}

const gainOf = (wanted: ChannelColours, now: ChannelColours): number =>
  now.deviation === 0 ? 1 : Math.min(Math.max(wanted.deviation / now.deviation, 1 / MOST_GAIN), MOST_GAIN);

/**
 * Takes the drift of colours out of the frames that a clip has added, in place: nothing of it from the frame before the first, whose
 * colours are held already, all of it from those that the next clip goes on from, and evenly more in between. Mean and deviation of each
 * channel of the latents become the anchor's. Source: Reinhard et al., Color transfer between images, 2001, there in another space of
 * colours. frames: [C,h,w] each.
 */
export function holdColours(frames: readonly Float32Array[], { anchor, strength, overlap }: ColourHold): void {
  if (strength === 0 || frames.length === 0) return;
  const last = Math.min(overlap, frames.length);
  const now = coloursOf(frames.slice(-last), anchor.length);
  const rise = frames.length - last + 1;
  frames.forEach((frame, index) => {
    const share = strength * Math.min(1, (index + 1) / rise);
    const area = frame.length / anchor.length;
    anchor.forEach((wanted, channel) => {
      const gain = 1 + share * (gainOf(wanted, now[channel]!) - 1);
      const mean = now[channel]!.mean;
      const shifted = mean + share * (wanted.mean - mean);
      for (let i = channel * area; i < (channel + 1) * area; i++) frame[i] = shifted + gain * (frame[i]! - mean);
    });
  });
}
