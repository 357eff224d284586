import type { JoinedTexts } from "./addon-types";
import { listOf, requireArgument, TEXT } from "./arguments";

const TEXTS = listOf(TEXT);

/**
 * Returns texts as the addon takes many; it refuses those that have a NUL.
 *
 * @param where the function and the argument that they are
 * @throws VdError `attr` for anything but texts
 */
export function joinedTexts(where: string, texts: readonly string[]): JoinedTexts {
  requireArgument(where, texts, TEXTS);
  return { text: texts.join("\0"), count: texts.length };
}
