import type { KernelSum } from "@vd/kernels-native";
import type { Ceilings } from "../ceilings";
import type { Recording } from "../record/recording";
import { findBottlenecks } from "./bottlenecks";
import { summarizeOps, summarizeRows } from "./rows";
import { percentOf, TreeBuilder } from "./tree";
import type { ProfileReport } from "./types";

/** The device of each run, once, and what to know about its times. */
function devicesOf({ edges }: Recording): { devices: string[]; notes: string[] } {
  const seen = new Set(edges.flatMap(({ span }) => (span.run ? [span.run.plan.device] : [])));
  const devices = [...seen].map(({ kind, threads }) =>
    kind === "cpu" ? `cpu, ${threads} thread${threads === 1 ? "" : "s"}` : kind,
  );
  const notes = [
    "Memory is what loaded plans planned for activations, inputs and outputs, plus packed weights and working memory.",
  ];
  if ([...seen].some(({ kind }) => kind === "cuda"))
    notes.push(
      "GPU rows are timed by events on the stream, read when the run has ended. A timed run launches its rows one by " +
        "one: captured graphs are not replayed under a profiler.",
    );
  return { devices: [...new Set(devices)], notes };
}

function ceilingsOf(ceilings: Ceilings | undefined): ProfileReport["ceilings"] {
  if (!ceilings) return null;
  const rates = Object.entries(ceilings.flopsPerUs).map(([dtype, flopsPerUs]) => [dtype, flopsPerUs / 1e6] as const);
  return {
    gigabytesPerS: ceilings.bytesPerUs / 1e3,
    teraflopPerS: Object.fromEntries(rates),
    source: ceilings.source,
  };
}

/** What is known besides the recording. */
export interface ReportContext {
  ceilings?: Ceilings | undefined;
  /** Times of single kernels, if they were recorded. */
  kernels?: Iterable<KernelSum> | undefined;
  /** For the reader, besides the report's own. */
  notes?: readonly string[];
}

/** Adds a recording up. */
export function buildReport(recording: Recording, context: ReportContext): ProfileReport {
  const { ceilings, kernels = [], notes = [] } = context;
  const builder = new TreeBuilder(recording, ceilings);
  const { attribution } = builder;
  const { wallUs, outsideUs } = attribution;
  const scopes = builder.build();
  const rows = summarizeRows(recording, attribution, ceilings);
  const originUs = recording.edges[0]?.atUs ?? 0;
  return {
    version: 1,
    devices: devicesOf(recording).devices,
    ...{ wallUs, outsideUs, outsidePercent: percentOf(outsideUs, wallUs) },
    peakBytes: recording.memory.reduce((peak, { bytes }) => Math.max(peak, bytes), 0),
    ceilings: ceilingsOf(ceilings),
    scopes,
    ops: summarizeOps(rows, ceilings !== undefined),
    rows,
    bottlenecks: findBottlenecks(scopes, rows, ceilings),
    memory: recording.memory.map(({ atUs, bytes }) => ({ atUs: atUs - originUs, bytes })),
    kernels: [...kernels]
      .map((kernel) => ({ ...kernel, sharePercent: percentOf(kernel.totalUs, wallUs) }))
      .sort((a, b) => b.totalUs - a.totalUs),
    notes: [...devicesOf(recording).notes, ...notes],
  };
}
