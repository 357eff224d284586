import { barX, type PlotOptions, ruleX, text } from "@observablehq/plot";
import { figure } from "./figure";

/** A horizontal bar. */
export interface Bar {
  /** What it stands for; no other bar of the chart has the same. */
  label: string;
  value: number;
  /** What stands beside it in wide windows. */
  text: string;
  /** What stands beside it in narrow ones. */
  short: string;
  /** Its colour, as CSS. */
  color: string;
}

/** How bars are drawn. */
export interface BarsOptions {
  /** What the chart shows, for those who do not see it. */
  label: string;
  /** The unit of the values. */
  unit: string;
  /** Where a dashed line stands. */
  rule?: number | undefined;
}

const BAR_HEIGHT = 26;
const AXIS_HEIGHT = 44;
/** Characters of a label, and pixels beside the bars for one, by the width of the window. */
const LABELS = { narrow: { characters: 18, pixels: 7 }, wide: { characters: 44, pixels: 7 } } as const;

/** Labels longer than fits keep their end, which tells them apart. */
const shortened = (label: string, characters: number) =>
  label.length > characters ? `…${label.slice(1 - characters)}` : label;

/** Bars of one label would be drawn on top of each other and read as their sum. */
function checkDistinct(bars: readonly Bar[], chart: string): void {
  const labels = new Set<string>();
  for (const { label } of bars) {
    if (labels.has(label)) throw new Error(`${chart}: two bars are called "${label}"`);
    labels.add(label);
  }
}

/**
 * Draws horizontal bars from top to bottom, with their values written beside them. Returns HTML.
 *
 * @throws Error if two bars have the same label
 */
export function barsFigure(bars: readonly Bar[], { label, unit, rule }: BarsOptions): string {
  checkDistinct(bars, label);
  const largest = Math.max(...bars.map(({ value }) => value), rule ?? 0);
  const options = (_width: number, name: "wide" | "narrow"): PlotOptions => {
    const { characters, pixels } = LABELS[name];
    const longest = Math.max(...bars.map((bar) => Math.min(bar.label.length, characters)));
    return {
      style: "font-size: 12px",
      height: bars.length * BAR_HEIGHT + AXIS_HEIGHT,
      ...{ marginLeft: Math.ceil(longest * pixels) + 12, marginRight: name === "wide" ? 120 : 64, marginBottom: 36 },
      x: { domain: [0, largest], label: unit, grid: true, ticks: name === "wide" ? 8 : 3 },
      y: {
        ...{ domain: bars.map((bar) => bar.label), label: null, tickSize: 0 },
        tickFormat: (full: string) => shortened(full, characters),
      },
      marks: [
        barX(bars, {
          ...{ x: "value", y: "label", insetTop: 2, insetBottom: 2, title: "label" },
          fill: { value: (bar: Bar) => bar.color, scale: null },
        }),
        text(bars, {
          ...{ x: "value", y: "label", text: name === "wide" ? "text" : "short", textAnchor: "start", dx: 4 },
          fill: "var(--label)",
        }),
        ...(rule === undefined ? [] : [ruleX([rule], { stroke: "var(--label)", strokeDasharray: "4 3" })]),
      ],
    };
  };
  return figure(label, options);
}
