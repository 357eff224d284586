import { isClipModel, type LiveSessionOptions } from "@vd/live";
import type { BenchSettings, ClipSettings, DriftSettings, GameSettings, PictureSettings } from "../options/settings";

/** Frames from one measure of drift to the next in a game that somebody watches. */
const DRIFT_EVERY = 10;

/** The options of a session that all commands have. */
export function modelOptions(settings: BenchSettings | GameSettings): LiveSessionOptions {
  const { model, start, seed, steps, device, threads } = settings;
  return { model, start, seed, steps, device, threads };
}

/** Frames begun ahead; undefined for none, which models have that make frames in another way. */
export const aheadOf = (ahead: number): 1 | 2 | undefined => (ahead === 1 || ahead === 2 ? ahead : undefined);

/** What a session of clips is told. */
type ClipsOptions = Pick<LiveSessionOptions, "picture" | "motion" | "distilled" | "clips">;

/** True for a model of clips among those that the command line can name. */
export const makesClips = async ({ model }: Pick<GameSettings, "model">): Promise<boolean> =>
  model !== undefined && isClipModel(model);

/** The options of a session of clips; of other models those that were typed, which the session then refuses. */
export async function clipOptions(
  settings: ClipSettings & Pick<BenchSettings | DriftSettings, "model" | "input">,
): Promise<ClipsOptions> {
  const { input, motion, distilled, clipFrames: frames, overlap, holdColours } = settings;
  const clips = { frames, overlap, holdColours };
  const isTyped = Object.values(clips).some((value) => value !== undefined);
  const picture = (await makesClips(settings)) ? input : undefined;
  return { picture, motion, distilled, clips: isTyped ? clips : undefined };
}

/** What was typed of a guard; undefined where nothing was, as the session then has it. Models that are no games refuse what was typed. */
export function guardOf({ renoise, anchor, recover }: Pick<GameSettings, "renoise" | "anchor" | "recover">) {
  return renoise === 0 && anchor === 0 && recover === undefined ? undefined : { renoise, anchor, recover };
}

/** The options of a session that is played. */
export function gameOptions(
  settings: GameSettings & PictureSettings & { blend: number | undefined },
): LiveSessionOptions {
  const { fps, deadline, policy, cache, adaptive, blend } = settings;
  const drift = { everyFrames: DRIFT_EVERY };
  const {
    prompt,
    negativePrompt,
    strength,
    guidance,
    guidanceScale,
    delta,
    similarity,
    autoencoder,
    tokenizer,
    temporalBlend,
    blendThreshold,
    ahead,
  } = settings;
  const words = { prompt, negativePrompt, strength, guidanceScale, delta, autoencoder, tokenizer };
  // What is not asked for is not told: games have none of it.
  const pictures = {
    ...words,
    guidance: guidance === "none" ? undefined : guidance,
    similarity: similarity || undefined,
    ahead: aheadOf(ahead),
    temporalBlend: temporalBlend === 0 ? undefined : { weight: temporalBlend, threshold: blendThreshold },
  };
  return {
    ...modelOptions(settings),
    ...pictures,
    fps,
    deadlineMs: deadline,
    policy,
    cache: cache || undefined,
    adaptive,
    guard: guardOf(settings),
    blend,
    drift,
  };
}
