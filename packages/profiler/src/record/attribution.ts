import type { Edge, Span } from "./recording";

/** Who the time between the first and the last edge belongs to, in µs. */
export interface Attribution {
  selfUs: ReadonlyMap<Span, number>;
  /** While no scope was open. */
  outsideUs: number;
  wallUs: number;
}

/** Gives every moment to the innermost scopes that were open in it, in equal parts if several ran side by side, so that
 *  all self times and the time outside add up to the wall time. edges: in the order of time. */
export function attribute(edges: readonly Edge[]): Attribution {
  const selfUs = new Map<Span, number>();
  /** Open scopes somewhere inside each open scope. */
  const below = new Map<Span, number>();
  const innermost = new Set<Span>();
  let outsideUs = 0;
  let lastUs = edges[0]?.atUs ?? 0;
  for (const { span, atUs, isStart } of edges) {
    const elapsedUs = atUs - lastUs;
    lastUs = atUs;
    if (innermost.size === 0) outsideUs += elapsedUs;
    else for (const each of innermost) selfUs.set(each, (selfUs.get(each) ?? 0) + elapsedUs / innermost.size);
    if (isStart) {
      below.set(span, 0);
      selfUs.set(span, 0);
      innermost.add(span);
    } else {
      below.delete(span);
      innermost.delete(span);
    }
    for (let outer = span.parent; outer; outer = outer.parent) {
      const count = below.get(outer);
      // A scope may outlast the one that it was opened in.
      if (count === undefined) continue;
      below.set(outer, count + (isStart ? 1 : -1));
      if (isStart) innermost.delete(outer);
      else if (count === 1) innermost.add(outer);
    }
  }
  return { selfUs, outsideUs, wallUs: lastUs - (edges[0]?.atUs ?? 0) };
}
