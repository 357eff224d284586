import { alignColumns, formatMs } from "../measure/table";
import { type Comparison, ERROR, LEAST_CHANGE } from "./compare";

const WORDS: Readonly<Partial<Record<Comparison["verdict"], string>>> = {
  same: "same within noise",
  undecided: "not enough samples",
};
const percent = (log: number) => `${(100 * Math.expm1(log)).toFixed(1)} %`;

function line({ row, verdict, beforeUs, afterUs, change, numBefore, numAfter, unit }: Comparison): string[] {
  const ms = (us: number | undefined) => (us === undefined ? "-" : formatMs(us));
  const changed = beforeUs === undefined || afterUs === undefined ? "" : percent(Math.log(afterUs / beforeUs));
  const interval = change === undefined ? "" : `${percent(change.low)} to ${percent(change.high)}`;
  const counts = `${numBefore}, ${numAfter} ${unit}`;
  return [
    ...[`${row.suite} ${row.name}`, row.contender, ms(beforeUs), ms(afterUs), changed, interval, counts],
    WORDS[verdict] ?? verdict,
  ];
}

/** What the verdicts mean, in a sentence. */
function legend(comparisons: readonly Comparison[]): string {
  const rate = `Of unchanged code any row is called faster or slower in ${100 * ERROR} % of comparisons`;
  const perCent = (unit: Comparison["unit"]) => `${100 * LEAST_CHANGE[unit]} %`;
  if (comparisons.every(({ unit }) => unit === "runs"))
    return `${rate}; changes below ${perCent("runs")} are the same.`;
  return (
    `${rate} if the machine is alike in both; changes below ${perCent("samples")} are the same. Too few runs to see what differs ` +
    "between them: compare --base A B C --new D E F does."
  );
}

/** Comparisons as text: times, change, its interval, what that rests on, verdict; and what that means. before: what the first time
 *  is called. advice: whether to say what several runs would show. */
export function comparisonTable(
  comparisons: readonly Comparison[],
  { before = "before", advice = true }: { before?: string; advice?: boolean } = {},
): string {
  const head = ["case", "contender", `${before} ms`, "now ms", "change", "interval", "from", "verdict"];
  const lines = alignColumns([advice ? head.with(3, "after ms") : head, ...comparisons.map(line)]);
  return advice ? `${lines}\n\n${legend(comparisons)}` : lines;
}
