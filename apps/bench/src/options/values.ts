import { choice as choiceOf, readText, seed as seedKind } from "@vd/svd-pipeline/options";

/**
 * Reads a 64-bit seed.
 *
 * @throws VdError `attr`
 */
export const seed = (where: string) => (text: string) => readText(seedKind, text, where);

/**
 * Reads one of some words.
 *
 * @throws VdError `attr`
 */
export const choice =
  <T extends string>(where: string, words: readonly T[]) =>
  (text: string): T =>
    readText(choiceOf(words), text, where) as T;

/**
 * Reads words with commas between them, in the order of `words`; "none" is no word.
 *
 * @throws VdError `attr`
 */
export function choices<T extends string>(where: string, words: readonly T[]): (text: string) => T[] {
  return (text) => {
    if (text === "none") return [];
    const given = text.split(",").map(choice(where, words));
    return words.filter((word) => given.includes(word));
  };
}
