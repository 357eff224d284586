import { type PlotOptions, plot } from "@observablehq/plot";
import { DOMImplementation, XMLSerializer } from "@xmldom/xmldom";

/** Widths in CSS pixels at which each chart is drawn; the page shows the one that fits, so that texts keep their size. */
export const WIDTHS = { wide: 1160, narrow: 360 } as const;

/** One of {@link WIDTHS}. */
export type WidthName = keyof typeof WIDTHS;

/** Draws a chart without a browser: Observable Plot over a DOM of nothing but elements. Returns SVG. */
function drawSvg(options: PlotOptions): string {
  const document = new DOMImplementation().createDocument("http://www.w3.org/1999/xhtml", "html", null);
  const chart = plot({ ...options, document: document as unknown as NonNullable<PlotOptions["document"]> });
  return new XMLSerializer().serializeToString(chart as unknown as Parameters<XMLSerializer["serializeToString"]>[0]);
}

/** A chart at both widths, in a figure. label: what it shows, for those who do not see it. */
export function figure(label: string, options: (width: number, name: WidthName) => PlotOptions): string {
  const charts = (Object.keys(WIDTHS) as WidthName[]).map((name) => {
    const width = WIDTHS[name];
    const svg = drawSvg({ ...options(width, name), width });
    return `<div class="${name}" role="img" aria-label="${escapeHtml(label)}">${svg}</div>`;
  });
  return `<figure>${charts.join("")}</figure>`;
}

/** Text for HTML and for attributes in double quotes. */
export function escapeHtml(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(/[&<>"]/g, (character) => entities[character]!);
}
