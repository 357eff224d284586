import type { Card } from "./cards";
import { type Expectation, expectWork } from "./expect";
import type { Measured } from "./measured";
import type { Work } from "./work";

/** What a part of a model takes on a card, by calculation. */
export interface PartPrediction {
  part: string;
  /** How often it runs in the whole. */
  runs: number;
  /** Of one run. */
  flops: number;
  bytes: number;
  leastUs: number;
  expectedUs: number;
  /** What most of the expected time goes to. */
  bound: Expectation["bound"];
  /** What it took on such a card, where that was measured. */
  measuredUs?: number | undefined;
}

const sum = <T>(values: readonly T[], of: (value: T) => number) =>
  values.reduce((total, value) => total + of(value), 0);

/** Adds up what the calls of a part take. */
export function predictPart(card: Card, measured: Measured, part: string, runs: number, work: readonly Work[]) {
  const each = work.map((one) => expectWork(card, measured.card, one, measured.rates));
  const expectedUs = sum(each, (one) => one.expectedUs);
  const products = sum(
    each.filter(({ bound }) => bound === "products"),
    (one) => one.expectedUs,
  );
  return {
    ...{ part, runs, flops: sum(work, ({ flops }) => flops), bytes: sum(work, ({ bytes }) => bytes) },
    ...{ leastUs: sum(each, ({ leastUs }) => leastUs), expectedUs },
    bound: products > expectedUs / 2 ? "products" : "memory",
  } satisfies PartPrediction;
}

/** What single ops take, the measured card's own kernels told by their names. */
export const predictOps = (card: Card, measured: Measured): Expectation[] =>
  measured.ops.map((work) => expectWork(card, measured.card, work, measured.rates));

/** All parts together, as often as they run. */
export function predictWhole(parts: readonly PartPrediction[]): Pick<PartPrediction, "leastUs" | "expectedUs"> {
  return {
    leastUs: sum(parts, ({ runs, leastUs }) => runs * leastUs),
    expectedUs: sum(parts, ({ runs, expectedUs }) => runs * expectedUs),
  };
}
