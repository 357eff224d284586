/** What `vd-bench measure -o` writes, as far as joining needs it. */
export interface MeasureResults {
  options: { parts: string[]; peers: string[]; [name: string]: unknown };
  rows: { suite: string; [name: string]: unknown }[];
  tables: Record<string, unknown>;
  notes: string[];
  [name: string]: unknown;
}

/** In the order in which a generation goes through them. */
const PARTS = ["start", "clip", "encode", "unet", "vae", "e2e"];

/** The first row of each contender in each case: commands that bring in another peer run ours once more beside it. */
function firstOfEach(rows: MeasureResults["rows"]): MeasureResults["rows"] {
  const known = new Map<string, MeasureResults["rows"][number]>();
  for (const row of rows) {
    const key = JSON.stringify([row.suite, row.name, row.contender]);
    if (!known.has(key)) known.set(key, row);
  }
  return [...known.values()];
}

/** Results of several runs on one machine as one: the rows in the order of a generation, the first run's facts. runs: at
 *  least one. */
export function joinResults(runs: readonly MeasureResults[]): MeasureResults {
  const [first] = runs;
  if (!first) throw new Error("expected results to join, got none");
  const rows = firstOfEach(runs.flatMap((run) => run.rows));
  const place = ({ suite }: MeasureResults["rows"][number]) => PARTS.indexOf(suite);
  const united = (of: (run: MeasureResults) => string[]) => [...new Set(runs.flatMap(of))];
  return {
    ...first,
    options: {
      ...first.options,
      parts: PARTS.filter((part) => rows.some(({ suite }) => suite === part)),
      peers: united(({ options }) => options.peers),
    },
    rows: rows.sort((a, b) => place(a) - place(b)),
    tables: Object.assign({}, ...runs.map(({ tables }) => tables)),
    notes: [...united(({ notes }) => notes), `${runs.length} commands right after each other on one machine.`],
  };
}
