import { type PlotOptions, rect, text } from "@observablehq/plot";
import type { CategoryColors } from "../charts/colors";
import { escapeHtml, figure } from "../charts/figure";
import { formatUs } from "../report/format";
import type { Timeline, TimelineEntry } from "../report/timeline";

const LEVEL_PX = 18;
const CHARACTER_PX = 7;
const LEAST_PX = 0.6;
const LEAST_LABEL_PX = 28;
const MARGIN_PX = 12;
const AXIS_PX = 34;
/** Parts of the timeline that get a chart of their own. */
const MAX_CLOSE_UPS = 6;

/** A part of the timeline to draw. */
interface Section {
  title: string;
  entries: readonly TimelineEntry[];
  startUs: number;
  endUs: number;
}

interface Box extends TimelineEntry {
  level: number;
  widthPx: number;
}

/** Levels below each other: those of the first lane, then those of lanes that ran beside it. */
function levelsOf(entries: readonly TimelineEntry[]): Map<TimelineEntry, number> {
  const levels = new Map<TimelineEntry, number>();
  let base = 0;
  for (const lane of [...new Set(entries.map((entry) => entry.lane))].sort((a, b) => a - b)) {
    const own = entries.filter((entry) => entry.lane === lane);
    const [least, most] = own.reduce(([a, b], { depth }) => [Math.min(a, depth), Math.max(b, depth)], [Infinity, 0]);
    for (const entry of own) levels.set(entry, base + entry.depth - least!);
    base += most! - least! + 1;
  }
  return levels;
}

function flamePlot({ entries, startUs, endUs }: Section, colors: CategoryColors, width: number): PlotOptions {
  const pxPerUs = (width - 2 * MARGIN_PX) / Math.max(endUs - startUs, 1e-3);
  const levels = levelsOf(entries);
  const boxes: Box[] = entries
    .map((entry) => ({ ...entry, level: levels.get(entry)!, widthPx: entry.durationUs * pxPerUs }))
    .filter(({ widthPx }) => widthPx >= LEAST_PX);
  const numLevels = boxes.reduce((most, { level }) => Math.max(most, level + 1), 1);
  const fill = ({ kind, op, error }: Box) =>
    error === undefined ? (op === undefined ? `var(--${kind})` : colors.of(op)) : "var(--failed)";
  const unit = endUs - startUs < 1e6 ? { per: 1e3, name: "ms" } : { per: 1e6, name: "s" };
  const x = (us: number) => (us - startUs) / unit.per;
  return {
    height: numLevels * LEVEL_PX + AXIS_PX,
    ...{ marginLeft: MARGIN_PX, marginRight: MARGIN_PX, marginTop: 0, marginBottom: AXIS_PX },
    x: { domain: [0, x(endUs)], label: unit.name, ticks: width < 600 ? 4 : 10 },
    y: { axis: null, domain: [numLevels, 0] },
    marks: [
      rect(boxes, {
        x1: (box: Box) => x(box.startUs),
        x2: (box: Box) => x(box.startUs + box.durationUs),
        y1: (box: Box) => box.level,
        y2: (box: Box) => box.level + 1,
        fill: { value: fill, scale: null },
        ...{ insetBottom: 1, insetRight: 0.3 },
        title: (box: Box) =>
          `${box.name}${box.op ? ` (${box.op})` : ""}: ${formatUs(box.durationUs)}${box.error === undefined ? "" : `, failed: ${box.error}`}`,
      }),
      text(
        boxes.filter(({ widthPx }) => widthPx >= LEAST_LABEL_PX),
        {
          x: (box: Box) => x(box.startUs),
          y: (box: Box) => box.level + 0.5,
          text: (box: Box) => fitted(box.name, box.widthPx),
          ...{ textAnchor: "start", dx: 3, fontSize: 11, fill: "var(--label)", pointerEvents: "none" },
        },
      ),
    ],
  };
}

/** The name, or as much of its end as fits: paths differ at their ends. */
function fitted(name: string, widthPx: number): string {
  const room = Math.floor((widthPx - 4) / CHARACTER_PX);
  return name.length <= room ? name : `${name.slice(0, Math.max(1, room - 1))}…`;
}

/** For each place from which plans were run, the median run with its rows; the longest first. */
function closeUps({ entries }: Timeline): Section[] {
  const found = new Map<string, { totalUs: number; runs: number[] }>();
  const around: TimelineEntry[] = [];
  for (const [i, entry] of entries.entries()) {
    if (entry.kind !== "scope") continue;
    around[entry.depth] = entry;
    if (entry.name !== "run" || entries[i + 1] === undefined || entries[i + 1]!.kind === "scope") continue;
    const outer = around[entry.depth - 1]?.name.replace(/^step \d+$/, "one step") ?? "run";
    const place = found.get(outer) ?? { totalUs: 0, runs: [] };
    found.set(outer, place);
    place.totalUs += entry.durationUs;
    place.runs.push(i);
  }
  const sections = [...found].sort(([, a], [, b]) => b.totalUs - a.totalUs).slice(0, MAX_CLOSE_UPS);
  return sections.map(([outer, { runs }]) => {
    const sorted = [...runs].sort((a, b) => entries[a]!.durationUs - entries[b]!.durationUs);
    const first = sorted[Math.floor((sorted.length - 1) / 2)]!;
    let end = first + 1;
    while (end < entries.length && entries[end]!.kind !== "scope") end++;
    const run = entries[first]!;
    const many = runs.length > 1 ? ` (the median of ${runs.length})` : "";
    return {
      title: `${outer}${many}: ${formatUs(run.durationUs)}`,
      entries: entries.slice(first, end),
      ...{ startUs: run.startUs, endUs: run.startUs + run.durationUs },
    };
  });
}

/** Flame charts: all of it, then a run of each kind with its blocks and rows. */
export function flameCharts(timeline: Timeline, wallUs: number, colors: CategoryColors): string {
  const whole = { title: "All", entries: timeline.entries, startUs: 0, endUs: wallUs };
  const parts = closeUps(timeline).map((section, i) => {
    const chart = figure(`Flame chart of ${section.title}`, (width) => flamePlot(section, colors, width));
    return `<details${i < 2 ? " open" : ""}><summary>${escapeHtml(section.title)}</summary>${chart}</details>`;
  });
  return `${figure("Flame chart of everything", (width) => flamePlot(whole, colors, width))}${colors.legend({ scope: "var(--scope)", block: "var(--block)" })}${parts.join("")}`;
}
