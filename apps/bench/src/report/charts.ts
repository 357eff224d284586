import type { BenchFile, BenchRow, OpGroup } from "../measure/report";
import { tooFewSamples } from "../stats/summary";

/** A chart in Vega-Lite's terms, without sizes and colours. */
export interface Chart {
  title: string;
  /** What a reader should see in it. */
  caption: string;
  spec: Record<string, unknown>;
  /** Height in pixels for the drawing area. */
  height: number;
}

const BAR_HEIGHT = 26;
const MIN_HEIGHT = 60;

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

const isTimed = (row: BenchRow): row is BenchRow & { medianUs: number; madUs: number } => row.medianUs !== undefined;
const heightOf = (numBars: number) => Math.max(MIN_HEIGHT, numBars * BAR_HEIGHT);

const colour = {
  field: "ours",
  type: "nominal",
  legend: null,
  scale: { domain: ["ours", "peer"] },
};

/** Labels longer than fits keep their end, which tells them apart; {@link drawChart} puts in how long that is. */
export const LABEL_LENGTH = "LABEL_LENGTH";
const SHORT_LABEL = `length(datum.label) > ${LABEL_LENGTH} ? '…' + slice(datum.label, 1 - ${LABEL_LENGTH}) : datum.label`;

/** Field of the text beside a bar; {@link drawChart} puts in the one that fits: with the spread or without. */
export const TEXT_FIELD = "TEXT_FIELD";

/** A number with three digits that mean something, never as a power. */
export function threeDigits(value: number): string {
  if (value === 0) return "0";
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(decimals, 6));
}

/** A bar: `text` stands beside it in wide windows, `short` in narrow ones. */
interface Bar {
  label: string;
  value: number;
  text: string;
  short: string;
  ours: "ours" | "peer";
}

/** Horizontal bars with their values written beside them. */
function bars(values: readonly Bar[], title: string): Record<string, unknown> {
  const y = {
    field: "label",
    type: "nominal",
    sort: null,
    title: null,
    axis: { labelLimit: 0, labelExpr: SHORT_LABEL },
  };
  const x = { field: "value", type: "quantitative", title, scale: { zero: true } };
  return {
    data: { values },
    layer: [
      { mark: { type: "bar", height: { band: 0.7 } }, encoding: { x, y, color: colour } },
      {
        mark: { type: "text", align: "left", dx: 4 },
        encoding: { x, y, text: { field: TEXT_FIELD, type: "nominal" } },
      },
    ],
  };
}

const kindOf = ({ contender }: BenchRow): Bar["ours"] => (contender.startsWith("ours") ? "ours" : "peer");
/** Behind the name of an op that the peer replays as a graph. */
const GRAPH = ", graph";

function timeChart(suite: string, name: string, rows: readonly BenchRow[]): Chart | undefined {
  const timed = rows.filter(isTimed);
  if (timed.length === 0) return undefined;
  const inSeconds = Math.max(...timed.map(({ medianUs }) => medianUs)) >= 2e6;
  const unitUs = inSeconds ? 1e6 : 1e3;
  const values = timed.map((row) => {
    const value = row.medianUs / unitUs;
    const short = threeDigits(value);
    const few = tooFewSamples(row);
    const text = few === undefined ? `${short} ± ${Number((row.madUs / unitUs).toPrecision(2))}` : `${short} (${few})`;
    return { label: row.contender, value, text, short, ours: kindOf(row) };
  });
  return {
    title: `${SUITE_TITLES[suite] ?? suite}: ${name}`,
    caption: "Median and its spread (median absolute deviation); shorter is better.",
    spec: bars(values, inSeconds ? "seconds" : "milliseconds"),
    height: heightOf(values.length),
  };
}

function memoryChart(rows: readonly BenchRow[]): Chart | undefined {
  const measured = rows.filter(({ peakBytes, suite }) => peakBytes !== undefined && suite !== "ops");
  if (measured.length === 0) return undefined;
  const isLarge = Math.max(...measured.map(({ peakBytes }) => peakBytes!)) >= 2 ** 30;
  const values = measured.map((row) => {
    const value = row.peakBytes! / (isLarge ? 2 ** 30 : 2 ** 20);
    const what = row.suite === "memory" ? row.name.split(",")[0] : row.suite;
    const text = threeDigits(value);
    return { label: `${what} ${row.contender}`, value, text, short: text, ours: kindOf(row) };
  });
  const caption = "The most memory that a run took beyond what was in use before, weights included.";
  return {
    title: "Peak memory",
    caption,
    spec: bars(values, isLarge ? "GiB" : "MiB"),
    height: heightOf(values.length),
  };
}

/** For each op that a peer has too: how many times longer the peer takes. */
function opsChart(rows: readonly BenchRow[]): Chart | undefined {
  const ops = rows.filter((row) => row.suite === "ops").filter(isTimed);
  const values = ops
    .filter((row) => kindOf(row) === "peer")
    .flatMap((peer): Bar[] => {
      const ours = ops.filter(({ name, contender }) => name === peer.name && contender.startsWith("ours"));
      if (ours.length === 0) return [];
      const value = peer.medianUs / Math.min(...ours.map(({ medianUs }) => medianUs));
      const text = value.toFixed(2);
      return [
        {
          label: `${peer.name}${peer.contender === "pytorch" ? "" : GRAPH}`,
          value,
          text,
          short: text,
          ours: value >= 1 ? "ours" : "peer",
        },
      ];
    });
  if (values.length === 0) return undefined;
  const base = bars(values, "times as long as ours");
  const one = { mark: { type: "rule", strokeDash: [4, 3] }, encoding: { x: { datum: 1 } } };
  const spec = { ...base, layer: [...(base.layer as unknown[]), one] };
  const caption = "PyTorch's time over that of the faster of ours; the dashed line is as fast as ours.";
  return { title: "Ops beside PyTorch", caption, spec, height: heightOf(values.length) };
}

interface Point {
  intensity: number;
  tflopPerS: number;
  op: string;
}

const pointOf = ({ op, gflop, gigabytes, tflopPerS }: OpGroup): Point => ({
  ...{ intensity: gflop / gigabytes, tflopPerS, op },
});

function points(file: BenchFile): Point[] {
  const groups = Object.values(file.tables).flat();
  const ops = file.rows.filter((row) => row.suite === "ops" && kindOf(row) === "ours").filter(isTimed);
  const fromOps = ops.map(({ name, flops = 0, bytes = 1, medianUs }) => ({
    ...{ intensity: flops / bytes, tflopPerS: flops / medianUs / 1e6, op: name.split(".")[0]! },
  }));
  return [...groups.map(pointOf), ...fromOps].filter(({ tflopPerS }) => tflopPerS > 0);
}

const ROOFLINE_HEIGHT = 320;

/** Achieved rates under the device's two ceilings. */
function rooflineChart(file: BenchFile): Chart | undefined {
  const values = points(file);
  if (values.length === 0) return undefined;
  const [low, high] = [Math.min(...values.map((p) => p.intensity)), Math.max(...values.map((p) => p.intensity))];
  const { rates } = file;
  const log = (field: string, title: string) => ({
    ...{ field, type: "quantitative", scale: { type: "log" }, title, axis: { tickCount: 5 } },
  });
  const x = log("intensity", "FLOP per byte");
  const y = log("tflopPerS", "TFLOP/s");
  const roof = (intensity: number) => ({
    ...{ intensity, tflopPerS: Math.min(rates!.matrixTflopPerS, (intensity * rates!.copyGbPerS) / 1e3) },
  });
  const knee = rates ? (rates.matrixTflopPerS * 1e3) / rates.copyGbPerS : 0;
  const corners = [low, ...(knee > low && knee < high ? [knee] : []), high];
  const line = rates && { data: { values: corners.map(roof) }, mark: { type: "line" }, encoding: { x, y } };
  const op = { field: "op", type: "nominal", title: null, legend: { orient: "bottom", columns: 3 } };
  const dots = { data: { values }, mark: { type: "point", filled: true, size: 45 }, encoding: { x, y, color: op } };
  return {
    title: "Roofline",
    caption: rates
      ? `Lines: ${rates.copyGbPerS.toFixed(0)} GB/s copied and ${rates.matrixTflopPerS.toPrecision(3)} TFLOP/s multiplied in the same run. Points above the sloping line read from caches.`
      : "Achieved rates; the ceilings were not measured.",
    spec: { layer: [...(line ? [line] : []), dots] },
    height: ROOFLINE_HEIGHT,
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
  return [...times, memoryChart(file.rows), opsChart(file.rows), rooflineChart(file)].filter(
    (chart) => chart !== undefined,
  );
}
