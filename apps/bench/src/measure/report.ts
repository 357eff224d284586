import type { MachineInfo } from "@vd/app-parts";
import type { Rates } from "../doctor/rates";
import type { Summary } from "../stats/summary";

/** One thing measured. Its key, {@link rowKey}, is the same in every run of the same command. */
export interface BenchRow extends Partial<Summary> {
  /** ops, clip, encode, unet, vae, start, e2e or memory; encode-switches and vae-switches for what optimisations gain. */
  suite: string;
  /** Shape or case within the suite. */
  name: string;
  /** ours, ours-graph, unfused (the sequence of our ops that an op fuses), one of the autoencoder's ways (ours-plain,
   *  ours-optimised, ours-within-8.6-gib, …), or a peer's name: diffusers, seedvr, … */
  contender: string;
  /** Of one run. */
  flops?: number;
  /** Operands read plus results written, of one run. */
  bytes?: number;
  /** Relative L2 distance to the float32 reference. */
  error?: number;
  /** Of ops: relative L2 distance to float64 over the operands as the run has them, those of 8 bits after rounding. */
  float64Error?: number;
  /** Of ops in 8 bits: relative L2 distance to float64 over the operands before they were rounded to 8 bits. */
  unroundedError?: number;
  /** Elements of the result that both are of: a sample of large ones. */
  float64Elements?: number;
  /** Device memory that the run took beyond what was in use before; on the CPU what was planned. */
  peakBytes?: number;
  /** What PyTorch's allocator held of the device at most, unused pieces included. */
  reservedBytes?: number;
  /** What the plan allocates, and what packed weights take. */
  plannedBytes?: number;
  packedBytes?: number;
  /** Opening and loading, and the first run (which compiles what compiles). */
  loadUs?: number;
  firstUs?: number;
  /** Kernels, copies and fills that one run launches on a GPU: ours from the plan, a peer's as its profiler saw them. On the CPU ops,
   *  each of which passes over its operands, where one stands beside the sequence that it fuses. */
  launches?: number;
  /** Why there is no figure. */
  reason?: string;
}

/** Rows of a plan that do the same over the same shape. */
export interface OpGroup {
  op: string;
  shape: string;
  variant: string;
  count: number;
  /** All of them together. */
  totalUs: number;
  gflop: number;
  gigabytes: number;
  tflopPerS: number;
  gbPerS: number;
}

/** Results of a command of vd-bench, as its JSON files hold them. */
export interface BenchFile {
  format: "vd-bench";
  version: 1;
  command: string;
  createdAt: string;
  machine: MachineInfo;
  /** Of peers. */
  versions: Readonly<Record<string, unknown>>;
  options: Readonly<Record<string, unknown>>;
  rows: BenchRow[];
  /** Where the time of a plan goes, by suite. */
  tables: Record<string, OpGroup[]>;
  notes: string[];
  /** What the device reached in the same run, for the roofline. */
  rates?: Rates;
}

/** What makes rows of two files the same measurement. */
export const rowKey = ({ suite, name, contender }: BenchRow): string => `${suite} ${name} ${contender}`;
