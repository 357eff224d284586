import { parse, View } from "vega";
import { compile } from "vega-lite";
import { type Chart, LABEL_LENGTH, TEXT_FIELD } from "./charts";

/** Colours and widths in which every chart is drawn; style sheets show the one that fits. */
const THEMES = {
  light: { text: "#1b1f24", grid: "#d8dee4", ours: "#0b6bcb", peer: "#8c959f" },
  dark: { text: "#e6edf3", grid: "#3d444d", ours: "#58a6ff", peer: "#8b949e" },
} as const;
const WIDTHS = { narrow: 330, wide: 820 } as const;
/** What stands beside bars. */
const TEXT_FIELDS = { narrow: "short", wide: "text" } as const;
/** Characters of a label beside bars. */
const LABEL_LENGTHS = { narrow: 18, wide: 44 } as const;
const CATEGORIES = "tableau10";

/** One drawing of a chart, and when to show it. */
export interface Drawing {
  theme: keyof typeof THEMES;
  width: keyof typeof WIDTHS;
  svg: string;
}

function config({ text, grid, ours, peer }: (typeof THEMES)[keyof typeof THEMES]) {
  const axis = { labelColor: text, titleColor: text, gridColor: grid, domainColor: grid, tickColor: grid };
  return {
    background: null,
    font: "system-ui, sans-serif",
    axis: { ...axis, labelFontSize: 12, titleFontSize: 12 },
    legend: { labelColor: text, titleColor: text, labelFontSize: 12 },
    view: { stroke: null },
    text: { color: text, fontSize: 12 },
    rule: { color: text },
    line: { color: text, strokeWidth: 1.5 },
    range: { category: { scheme: CATEGORIES } },
    style: { ours: { fill: ours }, peer: { fill: peer } },
  };
}

/** Puts a theme's two colours where a chart tells ours from peers, and labels and texts that fit the width. */
function adapted(spec: unknown, range: readonly string[], width: Drawing["width"]): unknown {
  const text = JSON.stringify(spec)
    .replaceAll(LABEL_LENGTH, String(LABEL_LENGTHS[width]))
    .replaceAll(TEXT_FIELD, TEXT_FIELDS[width]);
  return JSON.parse(text, (key, value) =>
    key === "scale" && Array.isArray(value?.domain) && value.domain[0] === "ours" ? { ...value, range } : value,
  );
}

/** Draws a chart in both themes and widths as SVG. */
export async function drawChart({ spec, height }: Chart): Promise<Drawing[]> {
  const drawings: Drawing[] = [];
  for (const [theme, colours] of Object.entries(THEMES) as [Drawing["theme"], (typeof THEMES)["light"]][])
    for (const [width, pixels] of Object.entries(WIDTHS) as [Drawing["width"], number][]) {
      const whole = {
        ...(adapted(spec, [colours.ours, colours.peer], width) as object),
        $schema: "https://vega.github.io/schema/vega-lite/v5.json",
        width: pixels,
        height,
        padding: 4,
        autosize: { type: "fit-x", contains: "padding" },
        config: config(colours),
      };
      const compiled = compile(whole as unknown as Parameters<typeof compile>[0]).spec;
      const view = new View(parse(compiled), { renderer: "none" });
      drawings.push({ theme, width, svg: await view.toSVG() });
      view.finalize();
    }
  return drawings;
}
