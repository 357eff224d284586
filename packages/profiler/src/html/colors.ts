import type { OpSummary } from "../report/types";

/** Ops with a colour of their own; the page's style has as many. */
const NUM_OP_COLORS = 8;

/** Colours of ops as CSS variables, the ops with the most time first; the rest share one. */
export class OpColors {
  private readonly known: string[];

  constructor(ops: readonly OpSummary[]) {
    this.known = ops.slice(0, NUM_OP_COLORS).map(({ op }) => op);
  }

  of(op: string): string {
    const index = this.known.indexOf(op);
    return index < 0 ? "var(--op-other)" : `var(--op-${index})`;
  }

  /** A key of all colours, as HTML. */
  legend(): string {
    const key = (label: string, color: string) => `<span><i style="background:${color}"></i>${label}</span>`;
    const ops = this.known.map((op) => key(op, this.of(op)));
    return `<p class="legend">${[...ops, key("other ops", "var(--op-other)"), key("scope", "var(--scope)"), key("block", "var(--block)")].join(" ")}</p>`;
  }
}
