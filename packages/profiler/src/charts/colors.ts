import { escapeHtml } from "./figure";

/** Categories with a colour of their own; {@link CHART_STYLE} has as many. */
const NUM_COLORS = 8;

/** Colours of categories as CSS variables, the first ones apart; the rest share one. */
export class CategoryColors {
  private readonly known: readonly string[];

  /** names: those that matter most first. */
  constructor(private readonly names: readonly string[]) {
    this.known = names.slice(0, NUM_COLORS);
  }

  /** The colour of a category, as CSS. */
  of(name: string): string {
    const index = this.known.indexOf(name);
    return index < 0 ? "var(--category-other)" : `var(--category-${index})`;
  }

  /** A key of all colours, as HTML. others: further colours by what they stand for. */
  legend(others: Readonly<Record<string, string>> = {}): string {
    const key = (label: string, color: string) =>
      `<span><i style="background:${color}"></i>${escapeHtml(label)}</span>`;
    const known = this.known.map((name) => key(name, this.of(name)));
    const rest = this.names.length > NUM_COLORS ? [key("others", this.of(""))] : [];
    const more = Object.entries(others).map(([label, color]) => key(label, color));
    return `<p class="legend">${[...known, ...rest, ...more].join(" ")}</p>`;
  }
}
