import type { Ceilings } from "../ceilings";
import { type Attribution, attribute } from "../record/attribution";
import type { PlanRun, Recording, Span } from "../record/recording";
import { blockPath } from "./blocks";
import { addWork, noWork, ratesOf, type Work, workOf } from "./cost";
import { peakWithin } from "./memory";
import type { ReportNode } from "./types";

/** A node while it is being added up. */
class Gathered {
  count = 0;
  totalUs = 0;
  selfUs = 0;
  numFailed = 0;
  error: string | undefined;
  peakBytes = 0;
  readonly children = new Map<string, Gathered>();

  constructor(
    readonly name: string,
    readonly kind: ReportNode["kind"],
    readonly op: string | undefined,
    readonly work: Work,
  ) {}
}

/** How a run's time falls to its rows: what is left is spent in getting to the worker and back. */
export interface RowShares {
  /** Per row. */
  selfUs: number[];
  restUs: number;
}

/** Splits the self time of a run among its rows. Device clocks and ours may differ by a little: rows never get more than
 *  the run has. */
export function splitRun({ times }: PlanRun, wallUs: number, selfUs: number): RowShares {
  const rowsUs = times.rowUs.reduce((sum, us) => sum + us, 0);
  const scale = Math.max(wallUs, rowsUs) > 0 ? selfUs / Math.max(wallUs, rowsUs) : 0;
  return { selfUs: Array.from(times.rowUs, (us) => us * scale), restUs: Math.max(0, selfUs - rowsUs * scale) };
}

/** Adds a recording up into trees of scopes, blocks and rows. */
export class TreeBuilder {
  private readonly roots = new Map<string, Gathered>();
  private readonly nodes = new Map<Span, Gathered>();
  readonly attribution: Attribution;

  constructor(
    private readonly recording: Recording,
    private readonly ceilings: Ceilings | undefined,
  ) {
    this.attribution = attribute(recording.edges);
  }

  /** The trees in the order in which their roots were first entered. */
  build(): ReportNode[] {
    for (const { span, isStart } of this.recording.edges) if (isStart) this.addSpan(span);
    return [...this.roots.values()].map((root) => this.finish(root));
  }

  private child(siblings: Map<string, Gathered>, name: string, kind: ReportNode["kind"], op?: string): Gathered {
    const key = `${kind} ${name}`;
    const known = siblings.get(key);
    if (known) return known;
    const made = new Gathered(name, kind, op, noWork(this.ceilings !== undefined));
    siblings.set(key, made);
    return made;
  }

  private addSpan(span: Span): void {
    const outer = span.parent && this.nodes.get(span.parent);
    const node = this.child(outer?.children ?? this.roots, span.name, "scope");
    this.nodes.set(span, node);
    const wallUs = span.endUs! - span.startUs;
    const selfUs = this.attribution.selfUs.get(span) ?? 0;
    node.count++;
    node.totalUs += wallUs;
    node.peakBytes = Math.max(node.peakBytes, peakWithin(this.recording.memory, span.startUs, span.endUs!));
    if (span.error !== undefined) {
      node.numFailed++;
      node.error = span.error;
    }
    if (!span.run) {
      node.selfUs += selfUs;
      return;
    }
    const shares = splitRun(span.run, wallUs, selfUs);
    node.selfUs += shares.restUs;
    this.addRows(node, span.run, shares);
  }

  private addRows(runNode: Gathered, { plan, times }: PlanRun, { selfUs }: RowShares): void {
    /** Blocks that this run has been counted in. */
    const entered = new Set<Gathered>();
    const { rows, dtype } = plan.layout.graph;
    for (const [i, row] of rows.entries()) {
      const path = blockPath(row.name);
      let outer = runNode;
      for (const name of path.slice(0, -1)) {
        outer = this.child(outer.children, name, "block");
        outer.totalUs += times.rowUs[i]!;
        if (!entered.has(outer)) outer.count++;
        entered.add(outer);
      }
      const leaf = this.child(outer.children, path[path.length - 1]!, "row", row.op);
      leaf.count++;
      leaf.totalUs += times.rowUs[i]!;
      leaf.selfUs += selfUs[i]!;
      addWork(leaf.work, workOf(row, dtype, this.ceilings));
    }
  }

  /** The node with what it contains added up. */
  private finish(node: Gathered): ReportNode {
    const children = [...node.children.values()].map((child) => {
      const finished = this.finish(child);
      addWork(node.work, child.work);
      return finished;
    });
    return {
      name: node.name,
      kind: node.kind,
      ...(node.op === undefined ? {} : { op: node.op }),
      ...{ count: node.count, numFailed: node.numFailed },
      ...(node.error === undefined ? {} : { error: node.error }),
      ...{ totalUs: node.totalUs, selfUs: node.selfUs },
      sharePercent: percentOf(node.selfUs, this.attribution.wallUs),
      ...ratesOf(node.work, node.totalUs),
      ...(node.kind === "scope" ? { peakBytes: node.peakBytes } : {}),
      children,
    };
  }
}

/** `part` of `whole` in percent; 0 of nothing. */
export const percentOf = (part: number, whole: number): number => (whole > 0 ? (100 * part) / whole : 0);
