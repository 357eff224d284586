import type { DriftMeasure, DriftReport } from "@vd/live";
import { CHART_STYLE, escapeHtml, type LineSeries, linesFigure } from "@vd/profiler/charts";

const STYLE = `${CHART_STYLE}
:root { --back: #ffffff; --text: #1b1f24; --quiet: #59636e; --line: #d8dee4; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #e6edf3; --quiet: #9198a1; --line: #3d444d; } }
body { background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 16px;
  max-width: 1200px; overflow-wrap: anywhere; }
h1 { font-size: 24px; margin-bottom: 4px; } h2 { font-size: 18px; margin: 0 0 4px; }
section { margin: 32px 0 0; border-top: 1px solid var(--line); padding-top: 16px; } p { color: var(--quiet); margin: 0 0 8px; }`;

/** One plot of the page. */
interface Plot {
  title: string;
  /** What the values are, and how to read them. */
  caption: string;
  unit: string;
  series: Readonly<Record<string, (measure: DriftMeasure) => number>>;
  /** Colours of series, as CSS, where they have their own. */
  colors?: Readonly<Record<string, string>>;
  range?: readonly [number, number];
}

const CHANNELS = ["red", "green", "blue"] as const;
/** Readable on white and on black. */
const CHANNEL_COLORS = { red: "#d1242f", green: "#2da44e", blue: "#3b82f6" };

const PLOTS: readonly Plot[] = [
  {
    title: "Collapse",
    caption: "0 is as lively as the start state, 1 a single colour.",
    unit: "collapse",
    series: { collapse: ({ collapse }) => collapse },
    range: [0, 1],
  },
  {
    title: "Mean of the channels",
    caption: "Pixels from -1 to 1. Where all three run off to one side the picture fades to a colour.",
    unit: "mean",
    series: Object.fromEntries(CHANNELS.map((name, i) => [name, ({ mean }: DriftMeasure) => mean[i]!])),
    colors: CHANNEL_COLORS,
  },
  {
    title: "Contrast and detail",
    caption: "Standard deviation over the frame, and mean difference of neighbouring pixels.",
    unit: "pixels in [-1, 1]",
    series: { contrast: ({ contrast }) => contrast, detail: ({ detail }) => detail },
  },
  {
    title: "Motion",
    caption: "Standard deviation of the difference to the frame before; 0 is a still picture.",
    unit: "pixels in [-1, 1]",
    series: { motion: ({ temporal }) => temporal },
  },
  {
    title: "Colours",
    caption: "Saturation, and how far the mean colour is from that of the start state.",
    unit: "pixels in [-1, 1]",
    series: { saturation: ({ saturation }) => saturation, "distance from the start": ({ colourDrift }) => colourDrift },
  },
  {
    title: "Variety of colours",
    caption: "Entropy of the histogram of colours with four levels a channel: 0 to 6 bits.",
    unit: "bits",
    series: { entropy: ({ colourEntropy }) => colourEntropy },
  },
  {
    title: "New pictures",
    caption: "Mean difference to the nearest picture that was measured before; near 0 the game repeats itself.",
    unit: "pixels in [-1, 1]",
    series: { difference: ({ repetition }) => repetition },
  },
];

function figureOf({ title, caption, unit, series, colors, range }: Plot, measures: readonly DriftMeasure[]): string {
  const lines = Object.entries(series).map(([name, read]): LineSeries => {
    const points = measures.map((measure) => ({ x: measure.frame, y: read(measure) }));
    const color = colors?.[name];
    return { name, points, ...(color !== undefined && { color }) };
  });
  const figure = linesFigure(lines, { label: `${title} by frame`, x: "frame", y: unit, ...(range && { range }) });
  return `<section><h2>${title}</h2><p>${caption}</p>${figure}</section>`;
}

/** The measures of a long game as one page without anything from outside, which follows the reader's theme. Returns HTML. */
export function driftPage(report: DriftReport): string {
  const { model, start, steps, seed, frames, guard, collapsed, measures } = report;
  const title = `Drift of ${model} over ${frames} frames`;
  const words = `From ${start}, ${steps} ${steps === 1 ? "step" : "steps"} a frame, seed ${seed}, renoise ${guard.renoise}, anchor ${guard.anchor}, recover ${guard.recover}. ${
    collapsed
      ? "The picture has collapsed: its last tenth lost more than half of what the first had."
      : "The picture lives."
  }`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body><h1>${escapeHtml(title)}</h1><p>${escapeHtml(words)}</p>
${PLOTS.map((plot) => figureOf(plot, measures)).join("\n")}
</body></html>
`;
}
