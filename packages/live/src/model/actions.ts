import { having, listOf, OBJECT, requireArgument, requireFields, shown, TEXT, VdError } from "@vd/kernels-native";
import type { LiveModelInfo } from "./types";

const MODEL = { actions: listOf(TEXT), keys: OBJECT };
const KEYS = having("a list of keys", [Symbol.iterator]);

/**
 * Returns the action of the keys that are held (`KeyboardEvent.code`): the one whose parts, `left+jump` has two, are exactly those of the
 * keys; of keys that no action combines, those pressed last.
 *
 * @example
 * ```ts
 * import { actionForKeys, openLiveModel } from "@vd/live";
 *
 * const { info } = await openLiveModel();
 * console.log(actionForKeys(info, ["ArrowRight", "Space"])); // right+jump
 * ```
 */
export function actionForKeys(model: Pick<LiveModelInfo, "actions" | "keys">, held: Iterable<string>): string {
  requireFields("actionForKeys model", model, MODEL);
  requireArgument("actionForKeys held", held, KEYS);
  const parts = [...new Set([...held].flatMap((key) => (Object.hasOwn(model.keys, key) ? [model.keys[key]!] : [])))];
  const byParts = new Map(model.actions.map((action) => [action.split("+").sort().join("+"), action]));
  for (let first = 0; first < parts.length; first++) {
    const action = byParts.get(parts.slice(first).sort().join("+"));
    if (action !== undefined) return action;
  }
  return model.actions[0]!;
}

/**
 * The number of an action by its name or number. where: who was given it.
 *
 * @throws VdError `attr`
 */
export function actionIndex(actions: readonly string[], action: string | number, where = "act"): number {
  const index = typeof action === "number" ? action : actions.indexOf(action);
  if (Number.isInteger(index) && index >= 0 && index < actions.length) return index;
  const expected = `one of ${actions.join(", ")}, or a number below ${actions.length}`;
  throw new VdError({ code: "attr", where: `session] [${where}`, expected, got: shown(action) });
}
