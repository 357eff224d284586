import { percent } from "../measure/roofline";
import { alignColumns, formatMs } from "../measure/table";
import { CARDS, type Card } from "./cards";
import type { Expectation } from "./expect";
import type { PartPrediction } from "./predict";

/** All known cards. */
export function cardsTable(): string {
  const head = ["card", "driver's name", "sm", "f16", "tf32", "f8", "i8", "GB/s", "GiB", "link GB/s"];
  const lines = CARDS.map(({ id, names, capability, tflopPerS, gbPerS, gibibytes, linkGbPerS }) => {
    const rate = (tflops: number | undefined) => (tflops === undefined ? "-" : String(tflops));
    const rates = [tflopPerS.f16, tflopPerS.tf32, tflopPerS.f8, tflopPerS.i8].map(rate);
    return [id, names[0]!, String(capability), ...rates, String(gbPerS), String(gibibytes), String(linkGbPerS)];
  });
  return `${alignColumns([head, ...lines])}\n\nTFLOP/s of dense products with float32 sums, by the type of operands.`;
}

/** What a card is, in a line. */
export function cardText({ names, capability, tflopPerS, gbPerS, gibibytes }: Card): string {
  return `${names[0]} (sm_${capability}): ${tflopPerS.f16} TFLOP/s in float16 with float32 sums, ${gbPerS} GB/s, ${gibibytes} GiB.`;
}

const cells = ({ leastUs, expectedUs, bound }: Pick<Expectation, "leastUs" | "expectedUs" | "bound">) => [
  ...[formatMs(leastUs), formatMs(expectedUs), percent(leastUs / expectedUs), bound],
];

/** Parts and the whole. whole: how the last line is called, and what it was measured to take. */
export function partsTable(
  parts: readonly PartPrediction[],
  whole: Pick<PartPrediction, "leastUs" | "expectedUs" | "measuredUs"> & { name: string },
): string {
  const head = ["part", "runs", "TFLOP", "GB", "least ms", "expected ms", "of roofline", "bound by", "measured ms"];
  const ms = (us: number | undefined) => (us === undefined ? "" : formatMs(us));
  const lines = parts.map(({ part, runs, flops, bytes, measuredUs, ...times }) => [
    ...[part, String(runs), (flops / 1e12).toFixed(2), (bytes / 1e9).toFixed(1)],
    ...[...cells(times), ms(measuredUs)],
  ]);
  const { name, leastUs, expectedUs, measuredUs } = whole;
  const last = [name, "", "", "", ...cells({ leastUs, expectedUs, bound: "products" }).slice(0, 3), "", ms(measuredUs)];
  return alignColumns([head, ...lines, last]);
}

/** Single ops, and what each took on the card that was measured. */
export function opsTable(ops: readonly Expectation[], measuredOn: Card): string {
  const head = ["op", "", "least ms", "expected ms", "of roofline", "bound by", `${measuredOn.id} ms`];
  const lines = ops.map(({ work, ...times }) => [work.name, "", ...cells(times), formatMs(work.measuredUs!)]);
  return alignColumns([head, ...lines]);
}
