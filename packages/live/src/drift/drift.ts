import { requireFields, requireOptions, VdError } from "@vd/kernels-native";
import { createLiveSession } from "../session/create";
import { DEFAULT_GUARD, guardWith, NO_GUARD } from "../session/guard";
import type { LiveSession } from "../session/types";
import { MEASURED } from "./measure";
import { randomPlay } from "./play";
import type { DriftMeasure, DriftOptions, DriftReport, DriftSummary } from "./types";

const FRAMES = 2000;
const EVERY = 10;
/** The part of a run that its start and its end are taken of. */
const TENTH = 0.1;
/** A game has collapsed when less than this part of its liveliness is left. */
const LEFT = 0.5;

const VALUES = [
  "contrast",
  "detail",
  "temporal",
  "saturation",
  "colourEntropy",
  "colourDrift",
  "repetition",
  "collapse",
] as const;

/** Means of a stretch of measures. */
function summaryOf(measures: readonly DriftMeasure[]): DriftSummary {
  const mean = (name: (typeof VALUES)[number]) =>
    measures.reduce((sum, measure) => sum + measure[name], 0) / measures.length;
  const frames = [measures[0]!.frame, measures[measures.length - 1]!.frame] as const;
  return { frames, ...(Object.fromEntries(VALUES.map((name) => [name, mean(name)])) as Omit<DriftSummary, "frames">) };
}

/**
 * Returns whether a game has collapsed: of contrast, detail or the entropy of its colours less than half of what the start of
 * the run had is left at its end.
 */
export function hasCollapsed(atStart: DriftSummary, atEnd: DriftSummary): boolean {
  requireFields("hasCollapsed atStart", atStart, MEASURED);
  requireFields("hasCollapsed atEnd", atEnd, MEASURED);
  return (["contrast", "detail", "colourEntropy"] as const).some((name) => atEnd[name] < LEFT * atStart[name]);
}

function checkCount(name: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  const expected = `a whole number of at least ${least}`;
  throw new VdError({ code: "attr", where: `drift] [${name}`, expected, got: String(value) });
}

/** Plays and measures. */
async function play(session: LiveSession, frames: number, seed: number, onMeasure: DriftOptions["onMeasure"]) {
  const measures: DriftMeasure[] = [];
  const actions = randomPlay(session.model.actions.length, seed);
  session.act(actions.next().value);
  for await (const { index, drift } of session) {
    if (drift) {
      measures.push(drift);
      onMeasure?.(drift);
    }
    if (index + 1 >= frames) break;
    session.act(actions.next().value);
  }
  return measures;
}

/**
 * Plays a live model at random and reports how its pictures change over the game.
 *
 * @throws VdError `attr`, and as `createLiveSession`; `cancelled` when the signal aborts
 * @example
 * ```ts
 * import { drift } from "@vd/live";
 *
 * const { collapsed, atStart, atEnd } = await drift({ frames: 200, steps: 1 });
 * console.log(collapsed, atStart.contrast, atEnd.contrast);
 * ```
 */
export async function drift(options: DriftOptions = {}): Promise<DriftReport> {
  requireOptions("drift", options);
  const { model, steps, start, guard, threads, device, signal, onMeasure, seed = 0 } = options;
  const { picture, motion, distilled, clips, size } = options;
  const everyFrames = checkCount("everyFrames", options.everyFrames ?? EVERY, 1);
  const frames = checkCount("frames", options.frames ?? FRAMES, everyFrames);
  checkCount("seed", seed, 0);
  const session = await createLiveSession({
    ...{ model, steps, start, threads, device, seed, signal, pace: "reader", drift: { everyFrames } },
    ...{ picture, motion, distilled, clips, size },
    guard,
  });
  try {
    const measures = await play(session, frames, seed, onMeasure);
    const count = Math.max(1, Math.round(measures.length * TENTH));
    const [atStart, atEnd] = [summaryOf(measures.slice(0, count)), summaryOf(measures.slice(-count))];
    return {
      model: session.model.name,
      start: start ?? session.model.starts[0]?.name ?? "its picture",
      steps: steps ?? session.model.defaultSteps,
      ...{ seed, frames, guard: guardWith(session.model.kind === "game" ? DEFAULT_GUARD : NO_GUARD, guard) },
      ...{ measures, atStart, atEnd, collapsed: hasCollapsed(atStart, atEnd) },
    };
  } finally {
    await session.close();
  }
}
