/** Edits that turn `a` into `b` (insert, delete, replace one character), by the two-row dynamic programme. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[j]! + 1, current[j - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}

/** Longer names are compared by their first characters only, so that a hostile header cannot make an error slow. */
const comparedLength = 128;
/** Names looked at; a checkpoint has a few thousand. */
const comparedNames = 5_000;

/** At most `count` of `names` that are spelled most like `wanted`, nearest first; for the hint of an error. */
export function nearestNames(wanted: string, names: Iterable<string>, count = 3): string[] {
  const scored: { name: string; distance: number }[] = [];
  const target = wanted.slice(0, comparedLength);
  for (const name of names) {
    if (scored.length === comparedNames) break;
    scored.push({ name, distance: editDistance(target, name.slice(0, comparedLength)) });
  }
  scored.sort((a, b) => a.distance - b.distance);
  return scored.slice(0, count).map(({ name }) => name);
}
