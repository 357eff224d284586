import { type Bar, barsFigure, CategoryColors, type RooflinePoint, rooflineFigure } from "@vd/profiler/charts";
import type { BenchFile, BenchRow, OpGroup } from "../measure/report";
import { tooFewSamples } from "../stats/summary";
import { endsOf, isOurs, isTimed, type OpRatio, opRatios, type TimedRow } from "./op-ratios";

/** A chart of a page. */
export interface Chart {
  title: string;
  /** What a reader should see in it. */
  caption: string;
  /** The drawing, as HTML. */
  figure: string;
  /** Whether it opens only when a reader asks for it. */
  isFolded?: boolean;
}

/** How people call the suites. */
export const SUITE_TITLES: Readonly<Record<string, string>> = {
  e2e: "Picture file to frames in host memory",
  unet: "One denoiser call on both guidance rows",
  vae: "VAE decode of all frames",
  encode: "VAE encode of the picture",
  clip: "Image encoder (CLIP)",
  start: "Fresh process to first denoiser call",
  ops: "Ops",
  memory: "Memory",
};

/** A number with three digits that mean something, never as a power. */
export function threeDigits(value: number): string {
  if (value === 0) return "0";
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(decimals, 6));
}

const colorOf = (ours: boolean) => (ours ? "var(--ours)" : "var(--peer)");

function timeChart(suite: string, name: string, rows: readonly BenchRow[]): Chart | undefined {
  const timed = rows.filter(isTimed);
  if (timed.length === 0) return undefined;
  const inSeconds = Math.max(...timed.map(({ medianUs }) => medianUs)) >= 2e6;
  const unitUs = inSeconds ? 1e6 : 1e3;
  const bars = timed.map((row): Bar => {
    const value = row.medianUs / unitUs;
    const short = threeDigits(value);
    const few = tooFewSamples(row);
    const text = few === undefined ? `${short} ± ${Number((row.madUs / unitUs).toPrecision(2))}` : `${short} (${few})`;
    return { label: row.contender, value, text, short, color: colorOf(isOurs(row)) };
  });
  const title = `${SUITE_TITLES[suite] ?? suite}: ${name}`;
  return {
    title,
    caption: "Median and its spread (median absolute deviation); shorter is better.",
    figure: barsFigure(bars, { label: title, unit: inSeconds ? "seconds" : "milliseconds" }),
  };
}

/** What a bar of memory stands for: the suite, and the case where the suite has several. */
function memoryLabels(rows: readonly BenchRow[]): string[] {
  const casesOf = (suite: string) => new Set(rows.filter((row) => row.suite === suite).map(({ name }) => name)).size;
  return rows.map(({ suite, name, contender }) => {
    if (suite === "memory") return `${name} ${contender}`;
    return casesOf(suite) > 1 ? `${suite} ${name} ${contender}` : `${suite} ${contender}`;
  });
}

/** Charts of the most memory that each case took, a bar for every row. */
export function memoryChart(all: readonly BenchRow[]): Chart | undefined {
  const rows = all.filter(({ peakBytes, suite }) => peakBytes !== undefined && suite !== "ops");
  if (rows.length === 0) return undefined;
  const isLarge = Math.max(...rows.map(({ peakBytes }) => peakBytes!)) >= 2 ** 30;
  const labels = memoryLabels(rows);
  const bars = rows.map((row, i): Bar => {
    const value = row.peakBytes! / (isLarge ? 2 ** 30 : 2 ** 20);
    const text = threeDigits(value);
    return { label: labels[i]!, value, text, short: text, color: colorOf(isOurs(row)) };
  });
  return {
    title: "Peak memory",
    caption: "The most memory that a run took beyond what was in use before, weights included; shorter is better.",
    figure: barsFigure(bars, { label: "Peak memory", unit: isLarge ? "GiB" : "MiB" }),
  };
}

function ratioFigure(ratios: readonly OpRatio[], label: string): string {
  const bars = ratios.map(({ label: name, ratio }): Bar => {
    const text = ratio.toFixed(2);
    return { label: name, value: ratio, text, short: text, color: colorOf(ratio >= 1) };
  });
  return barsFigure(bars, { label, unit: "times as long as ours", rule: 1 });
}

/** For each op that a peer has too, how many times longer the peer takes: the ends, then all of them. */
function opsCharts(rows: readonly BenchRow[]): Chart[] {
  const ratios = opRatios(rows);
  if (ratios.length === 0) return [];
  const title = "Ops beside PyTorch";
  const caption = "PyTorch's time over that of the faster of ours; the dashed line is as fast as ours.";
  const whole = { title, caption, figure: ratioFigure(ratios, title) };
  const { best, worst, isWhole } = endsOf(ratios);
  if (isWhole) return [whole];
  const end = (name: string, part: readonly OpRatio[]) => ({
    title: `${title}: the ${part.length} ${name}`,
    caption,
    figure: ratioFigure(part, `${title}: ${name}`),
  });
  return [
    end("best", best),
    end("worst", worst),
    { ...whole, title: `${title}: all ${ratios.length}`, isFolded: true },
  ];
}

const pointOf = (op: string, shape: string, gflop: number, gigabytes: number, tflopPerS: number): RooflinePoint => ({
  ...{ category: op, intensity: gflop / gigabytes, gigaflopPerS: tflopPerS * 1e3 },
  title: `${op} ${shape}: ${threeDigits(tflopPerS)} TFLOP/s`,
});

const pointOfGroup = ({ op, shape, gflop, gigabytes, tflopPerS }: OpGroup) =>
  pointOf(op, shape, gflop, gigabytes, tflopPerS);

function pointOfRow({ name, flops = 0, bytes = 1, medianUs }: TimedRow): RooflinePoint {
  const [op, ...shape] = name.split(".");
  return pointOf(op!, shape.join("."), flops / 1e9, bytes / 1e9, flops / medianUs / 1e6);
}

/** Achieved rates under the device's two ceilings. */
function rooflineChart(file: BenchFile): Chart | undefined {
  const ops = file.rows.filter((row) => row.suite === "ops" && isOurs(row)).filter(isTimed);
  const all = [...Object.values(file.tables).flat().map(pointOfGroup), ...ops.map(pointOfRow)];
  const points = all.filter(({ gigaflopPerS }) => gigaflopPerS > 0);
  if (points.length === 0) return undefined;
  const colors = new CategoryColors([...new Set(points.map(({ category }) => category))]);
  const { rates } = file;
  const ceilings = rates && { gigabytesPerS: rates.copyGbPerS, teraflopPerS: { matrix: rates.matrixTflopPerS } };
  return {
    title: "Roofline",
    caption: rates
      ? `Lines: ${rates.copyGbPerS.toFixed(0)} GB/s copied and ${rates.matrixTflopPerS.toPrecision(3)} TFLOP/s multiplied in the same run. Points above the sloping line read from caches.`
      : "Achieved rates; the ceilings were not measured.",
    figure: rooflineFigure(points, ceilings, colors) + colors.legend(),
  };
}

/** All charts that results have figures for. */
export function chartsOf(file: BenchFile): Chart[] {
  const cases = new Map<string, BenchRow[]>();
  for (const row of file.rows.filter(({ suite }) => suite !== "ops" && suite !== "memory")) {
    const key = `${row.suite}\n${row.name}`;
    cases.set(key, [...(cases.get(key) ?? []), row]);
  }
  const order = Object.keys(SUITE_TITLES);
  const rank = (key: string) => order.indexOf(key.split("\n")[0]!);
  const times = [...cases.entries()]
    .sort(([a], [b]) => rank(a) - rank(b))
    .map(([key, rows]) => timeChart(...(key.split("\n") as [string, string]), rows));
  return [...times, memoryChart(file.rows), ...opsCharts(file.rows), rooflineChart(file)].filter(
    (chart) => chart !== undefined,
  );
}
