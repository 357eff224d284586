import { having, NUMBER, requireArgument, TEXT } from "@vd/kernels-native";

/**
 * Number of insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
 * Source: the optimal string alignment distance (https://en.wikipedia.org/wiki/Damerau-Levenshtein_distance).
 */
export function editDistance(a: string, b: string): number {
  let twoAbove: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(above[j]! + 1, row[j - 1]! + 1, substitution);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) row[j] = Math.min(row[j]!, twoAbove[j - 2]! + 1);
    }
    [twoAbove, above] = [above, row];
  }
  return above[b.length]!;
}

/** Longer names are compared by their first characters only, so that a hostile header cannot make an error slow. */
const comparedLength = 128;
/** Names looked at; a checkpoint has a few thousand. */
const comparedNames = 5_000;

const NAMES = having("a list of names", [Symbol.iterator]);

/** At most `count` of `names` that are spelled most like `wanted`, nearest first; for the hint of an error. */
export function nearestNames(wanted: string, names: Iterable<string>, count = 3): string[] {
  requireArgument("nearestNames wanted", wanted, TEXT);
  requireArgument("nearestNames names", names, NAMES);
  requireArgument("nearestNames count", count, NUMBER);
  const scored: { name: string; distance: number }[] = [];
  const target = wanted.slice(0, comparedLength);
  for (const name of names) {
    if (scored.length === comparedNames) break;
    scored.push({ name, distance: editDistance(target, name.slice(0, comparedLength)) });
  }
  scored.sort((a, b) => a.distance - b.distance);
  return scored.slice(0, count).map(({ name }) => name);
}

/**
 * The name that a misspelt word most likely meant, whatever its capitals: the one with the smallest edit distance;
 * undefined when none is closer than a third of the word.
 */
export function meantName(word: string, names: Iterable<string>): string | undefined {
  requireArgument("meantName word", word, TEXT);
  requireArgument("meantName names", names, NAMES);
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const name of names) {
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance && distance < name.length) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}
