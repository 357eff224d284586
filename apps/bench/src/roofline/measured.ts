import { VdError } from "@vd/kernels-native";
import type { BenchFile, BenchRow, OpGroup } from "../measure/report";
import { median } from "../stats/summary";
import { type Card, cardOfDevice } from "./cards";
import { type KernelRates, kindOf, LAUNCH_US, rooflineUs } from "./expect";
import { HOPPER_KERNELS, isProduct, typeOf, type Work } from "./work";

/** What was measured of one card, as the expectations need it. */
export interface Measured {
  card: Card;
  /** Parts of a generation by suite, in the order of their plans' groups. */
  parts: ReadonlyMap<string, Work[]>;
  /** Single ops. */
  ops: Work[];
  rates: KernelRates;
  /** Whole parts and runs as they were timed, ours. */
  rows: BenchRow[];
}

/** FLOP of a call from which its launch does not count. */
const LARGE_FLOPS = 5e9;

const isOurs = ({ contender }: BenchRow) => contender === "ours" || contender === "ours-graph";

const workOfGroup = ({ op, shape, variant, count, totalUs, gflop, gigabytes }: OpGroup): Work => ({
  ...{ name: `${op} ${shape}`, op, type: typeOf(shape.split("[")[0]!), count, variant, measuredUs: totalUs },
  ...{ flops: gflop * 1e9, bytes: gigabytes * 1e9 },
});

/** Names of ops tell their type where it is not that of the activations; those were float16. */
const workOfRow = ({ name, flops = 0, bytes = 0, medianUs }: BenchRow, variant: string | undefined): Work => {
  const op = name.split(".")[0]!;
  const type = op.endsWith("_q8") ? typeOf(name) : "f16";
  const work: Work = { name, op, type, flops, bytes, count: 1, measuredUs: medianUs };
  // Where nobody says what Hopper chose, its own kernels compute products.
  return { ...work, variant: variant ?? (isProduct(work) ? HOPPER_KERNELS : undefined) };
};

/** The faster of ours in every case of ops. */
function fastestOps(rows: readonly BenchRow[]): BenchRow[] {
  const best = new Map<string, BenchRow>();
  for (const row of rows.filter((each) => each.suite === "ops" && isOurs(each) && each.medianUs !== undefined)) {
    const known = best.get(row.name);
    if (known === undefined || row.medianUs! < known.medianUs!) best.set(row.name, row);
  }
  return [...best.values()];
}

/** The rates of kernels on mma.sync in large calls: of each case the fastest such kernel, of each op the median. */
function productRates(card: Card, rows: readonly BenchRow[]): KernelRates["flopPerClock"] {
  const rates = new Map<string, Map<string, number>>();
  for (const { name, contender, medianUs, flops = 0 } of rows) {
    const op = /^ours (\w+?)_mma_/.exec(contender)?.[1];
    if (op === undefined || medianUs === undefined || flops < LARGE_FLOPS || name.includes("temporal.s")) continue;
    const cases = rates.get(op) ?? new Map<string, number>();
    const rate = flops / medianUs / 1e3 / (card.multiprocessors * card.clockGhz);
    cases.set(name, Math.max(rate, cases.get(name) ?? 0));
    rates.set(op, cases);
  }
  const ofOps = [...rates].map(([op, cases]) => [op, median([...cases.values()])] as const);
  return { ...Object.fromEntries(ofOps), "": median(ofOps.map(([, rate]) => rate)) };
}

/** The share of the roofline that all work of a kind reached together, without what takes as long as its launches do. */
function sharesOf(card: Card, all: readonly Work[]): KernelRates["shares"] {
  const sums = new Map<string, { least: number; took: number }>();
  for (const work of all) {
    const { leastUs } = rooflineUs(card, work);
    if (leastUs < work.count * LAUNCH_US) continue;
    const sum = sums.get(kindOf(work)) ?? { least: 0, took: 0 };
    sum.least += leastUs;
    sum.took += work.measuredUs!;
    sums.set(kindOf(work), sum);
  }
  return Object.fromEntries([...sums].map(([kind, { least, took }]) => [kind, Math.min(least / took, 1)]));
}

/**
 * Takes results of one card together. variants: which kernel that card chooses for a case of ops, where that is known.
 *
 * @throws VdError `unsupported` for results of a card that is not known, or without kernels on mma.sync
 */
export function measuredOf(files: readonly BenchFile[], variants: ReadonlyMap<string, string>): Measured {
  const { device } = files[0]!.machine;
  const card = cardOfDevice(device);
  const fail = (expected: string, got: string): never => {
    const hint = "Name results of `bench measure`, `bench ops` and `bench ops --variants` of one H200 with --measured.";
    throw new VdError({ code: "unsupported", where: "--measured", expected, got, hint });
  };
  if (card === undefined || files.some(({ machine }) => cardOfDevice(machine.device) !== card))
    return fail("results of one known card", [...new Set(files.map(({ machine }) => machine.device))].join(", "));
  const rows = files.flatMap((file) => file.rows);
  const flopPerClock = productRates(card, rows);
  if (Object.keys(flopPerClock).length < 2) fail("times of kernels on mma.sync", "none");
  const tables = Object.entries(Object.assign({}, ...files.map((file) => file.tables)) as BenchFile["tables"]);
  const parts = new Map(tables.map(([suite, groups]) => [suite, groups.map(workOfGroup)]));
  const ops = fastestOps(rows).map((row) => workOfRow(row, variants.get(row.name)));
  const shares = sharesOf(card, [...parts.values()].flat());
  return { card, parts, ops, rates: { flopPerClock, shares }, rows: rows.filter(isOurs) };
}
