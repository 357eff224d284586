/** How fast something was. Rates are of the total time; null where nothing was moved or computed. */
export interface Rates {
  /** Operands read plus results written. */
  bytes: number;
  flops: number;
  gigabytesPerS: number | null;
  teraflopPerS: number | null;
  /** Least time that the device's ceilings allow, as a part of the time it took; above 100 where operands came from a
   *  cache, or where an algorithm needs less arithmetic than the definition. Null without ceilings. */
  rooflinePercent: number | null;
}

/** How long something took. */
export interface Times {
  /** How often it was entered. */
  count: number;
  /** From beginning to end, all times together. */
  totalUs: number;
  /** Without what it contains; where several things ran side by side, each has its equal part. */
  selfUs: number;
  /** selfUs as a part of the wall time. */
  sharePercent: number;
}

/** A scope, a block of a model, or an op row, with everything inside it. */
export interface ReportNode extends Times, Rates {
  name: string;
  kind: "scope" | "block" | "row";
  /** Of rows. */
  op?: string;
  /** How many times it was left by an error. */
  numFailed: number;
  /** The last error's message. */
  error?: string;
  /** Of scopes: the most planned and packed memory of loaded plans while it was open. */
  peakBytes?: number;
  children: ReportNode[];
}

/** All rows of one op. */
export interface OpSummary extends Times, Rates {
  op: string;
}

/** A row of a plan, all its runs together. */
export interface RowSummary extends Times, Rates {
  plan: string;
  name: string;
  op: string;
  /** Of the result, e.g. `f32[2,14,16,16,32]`. */
  shape: string;
  /** A fast path ran, not the plain definition. */
  fast: boolean;
  /** The kernel variant; on the CPU the fast path, or `definition`. */
  variant: string;
}

/** All launches of one kernel of the device. */
export interface KernelSummary {
  name: string;
  count: number;
  totalUs: number;
  /** Of the wall time. */
  sharePercent: number;
}

/** Where time goes, and what would help. */
export interface Bottleneck {
  title: string;
  selfUs: number;
  sharePercent: number;
  /** What limits it. */
  finding: string;
  /** What would make it faster. */
  advice: string;
}

/** A profile, added up. Published as schema/report.schema.json. */
export interface ProfileReport {
  version: 1;
  /** Kind and workers of the devices that plans ran on. */
  devices: string[];
  /** From the first scope's beginning to the last one's end. */
  wallUs: number;
  /** Between scopes. */
  outsideUs: number;
  outsidePercent: number;
  peakBytes: number;
  ceilings: {
    gigabytesPerS: number;
    /** By the type of activations. */
    teraflopPerS: Record<string, number>;
    source: string;
  } | null;
  scopes: ReportNode[];
  ops: OpSummary[];
  rows: RowSummary[];
  /** Single kernels, the longest first; empty unless they were recorded. */
  kernels: KernelSummary[];
  bottlenecks: Bottleneck[];
  memory: { atUs: number; bytes: number }[];
  /** What to know when reading the figures. */
  notes: string[];
}
