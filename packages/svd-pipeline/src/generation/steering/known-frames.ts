import type { Sampler } from "@vd/sampling";
import type { Predict } from "../../denoising/host-stepper";
import { GuessProbe } from "./guess-probe";

/** Frames of a clip whose clean latents are known. */
export interface KnownFrames {
  /** For each frame of the clip its clean latents, [C,h,w], or undefined for a frame that is to be made. */
  frames: readonly (Float32Array | undefined)[];
  sampler: Sampler;
  /** True where unknown frames lead to known ones, which the model would not reach by itself. */
  leadsTo: boolean;
}

/** Most frames that are moved towards a known one that they lead to. */
const LEADING_FRAMES = 4;

/**
 * For each frame the known one that it leads to and how much of what the model misses that one by is taken off it: less the further it is.
 * frames: which are known.
 */
function leadsOf(frames: readonly unknown[]): ({ to: number; share: number } | undefined)[] {
  const lastNew = frames.lastIndexOf(undefined);
  const count = Math.min(LEADING_FRAMES, lastNew - frames.indexOf(undefined));
  return frames.map((_, frame) => {
    const back = lastNew + 1 - frame;
    const leads = lastNew + 1 < frames.length && back >= 1 && back <= count;
    return leads ? { to: lastNew + 1, share: 1 - back / (count + 1) } : undefined;
  });
}

/**
 * Returns predictions that know some frames: for these the model's output is replaced by the one whose guess of the clean latents is
 * right, so that every sampler ends at them, while the model sees them at each step as noisy as the rest. The calls must come in order.
 */
export function knowingFrames(predict: Predict, { frames, sampler, leadsTo }: KnownFrames): Predict {
  if (frames.every((frame) => frame === undefined)) return predict;
  const probe = new GuessProbe(sampler);
  const leads = leadsTo ? leadsOf(frames) : [];
  return async (call) => {
    const output = await predict(call);
    const { fromSample, fromOutput } = probe.at(call.index);
    // A call that makes no guess of its own leaves nothing to be replaced.
    if (fromOutput === 0) return output;
    const result = Float32Array.from(output);
    const length = result.length / frames.length;
    const guess = (at: number) => fromSample * call.latents[at]! + fromOutput * output[at]!;
    frames.forEach((clean, frame) => {
      const lead = leads[frame];
      const known = lead && frames[lead.to]!;
      for (let i = 0, at = frame * length; i < length && (clean || lead); i++, at++) {
        if (clean) result[at] = (clean[i]! - fromSample * call.latents[at]!) / fromOutput;
        else result[at]! -= (lead!.share * (guess(lead!.to * length + i) - known![i]!)) / fromOutput;
      }
    });
    return result;
  };
}

/** The frames of a clip in the opposite order. latents: [F,C,h,w]. */
export function reversedFrames(latents: Float32Array, numFrames: number): Float32Array {
  const length = latents.length / numFrames;
  const result = new Float32Array(latents.length);
  for (let frame = 0; frame < numFrames; frame++)
    result.set(latents.subarray(frame * length, (frame + 1) * length), (numFrames - 1 - frame) * length);
  return result;
}

/** Which share of the calls also look back from a clip's last frame: where things go is decided in the first ones, while in later ones
 *  the mean of two guesses shows both of them. Measured in docs/longer.md. */
const LOOKING_BACK = 0.5;

/** Returns how many of a sampler's calls also look back from a clip's last frame. */
export const lookingBack = ({ numModelCalls }: Sampler): number => Math.ceil(LOOKING_BACK * numModelCalls);

/**
 * Returns predictions that look forward from a clip's first frame and, in the first `numCalls` calls, back from its last one, each
 * counting by how near its own frame is. Source: Time Reversal Fusion, https://arxiv.org/abs/2403.14611, section 3, with its mean taken
 * of predictions, not of samples: the same for samplers whose steps are linear.
 *
 * forward, backward: predictions of the model with the clip's first and last frame as its picture; the second sees the frames in
 * the opposite order.
 */
export function fromBothEnds(
  forward: Predict,
  backward: Predict,
  { numFrames, numCalls }: { numFrames: number; numCalls: number },
): Predict {
  return async (call) => {
    const ahead = Float32Array.from(await forward(call));
    if (call.index >= numCalls) return ahead;
    const turned = { ...call, latents: reversedFrames(call.latents, numFrames) };
    const back = reversedFrames(await backward(turned), numFrames);
    const length = ahead.length / numFrames;
    for (let i = 0; i < ahead.length; i++) {
      const share = Math.floor(i / length) / Math.max(1, numFrames - 1);
      ahead[i] = (1 - share) * ahead[i]! + share * back[i]!;
    }
    return ahead;
  };
}
