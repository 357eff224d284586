import { shown, VdError } from "@vd/kernels-native";
import { actionIndex } from "../model/actions";
import type { LiveModelInfo } from "../model/types";
import type { EngineState, FrameMaker } from "./frame-maker";
import { isLook, type LiveLook } from "./look";
import type { LiveSnapshot } from "./types";

const FORMAT = "vd-live/1";
/** Words of MT19937, and the position of the next one. */
const GENERATOR_WORDS = 625;

/** Puts a snapshot together. */
export function toSnapshot(
  model: LiveModelInfo,
  size: { width: number; height: number },
  state: EngineState,
  action: number,
  steps: number,
): LiveSnapshot {
  return { format: FORMAT, model: model.name, ...size, ...state, action: model.actions[action]!, steps };
}

const numbersInWords = (numbers: Float32Array) =>
  numbers.every(Number.isFinite) ? `${numbers.length} numbers` : `${numbers.length} numbers, some of them not finite`;

function requireThat(holds: boolean, name: string, expected: string, got: unknown): void {
  if (!holds) throw new VdError({ code: "attr", where: `session] [restore] [${name}`, expected, got: String(got) });
}

/**
 * Checks a snapshot, which may come from anywhere, against a session.
 *
 * @throws VdError `attr`
 */
export function checkSnapshot(
  snapshot: LiveSnapshot,
  model: LiveModelInfo,
  size: { width: number; height: number },
  engine: Pick<FrameMaker, "contextLength">,
): { state: EngineState; action: number; look: LiveLook | undefined } {
  requireThat(typeof snapshot === "object" && snapshot !== null, "snapshot", "an object", snapshot);
  const {
    format,
    width,
    height,
    index,
    context,
    generator,
    contextGenerator,
    recovery = 0,
    look,
    steps,
    clips,
  } = snapshot;
  requireThat(format === FORMAT, "format", FORMAT, format);
  requireThat(snapshot.model === model.name, "model", model.name, snapshot.model);
  const isSameSize = width === size.width && height === size.height;
  requireThat(isSameSize, "size", `${size.width} x ${size.height}`, `${width} x ${height}`);
  requireThat(Number.isSafeInteger(index) && index >= 0, "index", "the number of a frame", index);
  requireThat(model.sigmas.has(steps), "steps", `one of ${[...model.sigmas.keys()].join(", ")}`, steps);
  const length = engine.contextLength(steps);
  const isContext = context instanceof Float32Array && context.length === length && context.every(Number.isFinite);
  const contextInWords = context instanceof Float32Array ? numbersInWords(context) : shown(context);
  requireThat(isContext, "context", `a Float32Array of ${length} finite numbers`, contextInWords);
  for (const [name, state] of [
    ["generator", generator],
    ["contextGenerator", contextGenerator ?? generator],
  ] as const) {
    const fits =
      state instanceof Uint32Array && state.length === GENERATOR_WORDS && state[GENERATOR_WORDS - 1]! < GENERATOR_WORDS;
    const place = state instanceof Uint32Array ? state[GENERATOR_WORDS - 1] : undefined;
    const got = place === undefined ? shown(state) : `${state.length} words, the last of them ${place}`;
    requireThat(fits, name, `a Uint32Array of ${GENERATOR_WORDS} words, the last at most ${GENERATOR_WORDS - 1}`, got);
  }
  const isPart = typeof recovery === "number" && recovery >= 0 && recovery <= 1;
  requireThat(isPart, "recovery", "a number from 0 to 1", recovery);
  requireThat(look === undefined || isLook(look), "look", "how a start state looks", shown(look));
  const action = actionIndex(model.actions, snapshot.action, "restore] [action");
  return { state: { index, context, generator, contextGenerator, recovery, clips }, action, look };
}
