import type { Recording, Span } from "../record/recording";
import { blockPath } from "./blocks";

/** A scope, block or row where it stands in time. */
export interface TimelineEntry {
  name: string;
  kind: "scope" | "block" | "row";
  /** Of rows. */
  op?: string;
  /** Since the first scope began. */
  startUs: number;
  durationUs: number;
  /** Number of entries around this one. */
  depth: number;
  /** Scopes of one lane nest; those that run side by side are in several. Blocks and rows are in their scope's. */
  lane: number;
  error?: string;
}

/** A recording in the order of time. */
export interface Timeline {
  entries: TimelineEntry[];
  memory: { atUs: number; bytes: number }[];
}

/** Gives each scope a lane in which it does not overlap others but those it lies in. */
class Lanes {
  /** Open scopes of each lane, the innermost last. */
  private readonly lanes: Span[][] = [];
  private readonly laneOf = new Map<Span, number>();

  open(span: Span): number {
    const own = this.lanes.findIndex((lane) => lane.length > 0 && lane[lane.length - 1] === span.parent);
    const free = this.lanes.findIndex((lane) => lane.length === 0);
    const lane = own >= 0 ? own : free >= 0 ? free : this.lanes.push([]) - 1;
    this.lanes[lane]!.push(span);
    this.laneOf.set(span, lane);
    return lane;
  }

  close(span: Span): void {
    const lane = this.lanes[this.laneOf.get(span)!]!;
    lane.splice(lane.indexOf(span), 1);
  }
}

function depthOf(span: Span): number {
  let depth = 0;
  for (let outer = span.parent; outer; outer = outer.parent) depth++;
  return depth;
}

/** Rows of a run one after the other from its beginning, and around them the blocks that they are in. */
function rowEntries(span: Span, lane: number, originUs: number, depth: number): TimelineEntry[] {
  const { plan, times } = span.run!;
  const entries: TimelineEntry[] = [];
  const open: TimelineEntry[] = [];
  // Clocks of devices may be ahead of ours by a little; rows must not leave the run.
  const rowsUs = times.rowUs.reduce((sum, us) => sum + us, 0);
  const scale = Math.min(1, rowsUs > 0 ? (span.endUs! - span.startUs) / rowsUs : 1);
  let atUs = span.startUs - originUs;
  for (const [i, row] of plan.layout.graph.rows.entries()) {
    const path = blockPath(row.name);
    const blocks = path.slice(0, -1);
    let shared = 0;
    while (shared < blocks.length && open[shared]?.name === blocks[shared]) shared++;
    open.length = shared;
    for (const name of blocks.slice(shared)) {
      open.push({ name, kind: "block", startUs: atUs, durationUs: 0, depth: depth + open.length, lane });
      entries.push(open[open.length - 1]!);
    }
    const durationUs = times.rowUs[i]! * scale;
    const name = path[path.length - 1]!;
    entries.push({ name, kind: "row", op: row.op, startUs: atUs, durationUs, depth: depth + blocks.length, lane });
    atUs += durationUs;
    for (const block of open) block.durationUs = atUs - block.startUs;
  }
  return entries;
}

/** Lays a recording out in time. */
export function buildTimeline(recording: Recording): Timeline {
  const originUs = recording.edges[0]?.atUs ?? 0;
  const lanes = new Lanes();
  const entries: TimelineEntry[] = [];
  for (const { span, isStart } of recording.edges) {
    if (!isStart) {
      lanes.close(span);
      continue;
    }
    const [lane, depth] = [lanes.open(span), depthOf(span)];
    entries.push({
      name: span.name,
      kind: "scope",
      startUs: span.startUs - originUs,
      durationUs: span.endUs! - span.startUs,
      depth,
      lane,
      ...(span.error === undefined ? {} : { error: span.error }),
    });
    if (span.run) entries.push(...rowEntries(span, lane, originUs, depth + 1));
  }
  return { entries, memory: recording.memory.map(({ atUs, bytes }) => ({ atUs: atUs - originUs, bytes })) };
}
