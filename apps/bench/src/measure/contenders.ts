import { type Device, VdError } from "@vd/kernels-native";
import { Plan, SafetensorsFile, type Tuning } from "@vd/tensor";
import { relativeL2 } from "../stats/summary";
import { MemoryWatch } from "./memory-watch";
import { opGroups } from "./op-groups";
import type { PeerMode } from "./options";
import type { OurPart } from "./our-parts";
import type { PeerProcess } from "./peer-process";
import type { BenchRow, OpGroup } from "./report";

/** Something that runs a part, turn by turn. */
export interface Contender {
  name: string;
  /** What is known before it is timed. */
  facts: Partial<BenchRow>;
  /** Times of `repeats` runs. */
  run(repeats: number): Promise<number[]>;
  close(): Promise<void>;
}

/** A part of ours that is loaded, and what was found out while loading it. */
export interface OurContender extends Contender {
  output: Float32Array;
  table: OpGroup[];
}

/** Runs per row of {@link opGroups}. */
const TABLE_RUNS = 3;

/** How a plan of ours is loaded. */
export interface OurContenderOptions {
  /** Replay a CUDA graph. */
  capture: boolean;
  /** What decides kernel variants. Default: the table that comes with the package for the device. */
  tuning?: Tuning;
  /** Default `ours`, or `ours-graph`. */
  name?: string;
  signal?: AbortSignal | undefined;
}

/** Loads a plan of ours, runs it and keeps the result. */
export async function ourContender(
  device: Device,
  ours: Omit<OurPart, "part" | "inputs">,
  { capture, signal, tuning, name = capture ? "ours-graph" : "ours" }: OurContenderOptions,
): Promise<OurContender> {
  const watch = await MemoryWatch.start(device);
  const startMs = performance.now();
  const plan = await Plan.load(device, ours.layout, { capture, tuning, batchInvariant: true });
  try {
    const loadUs = (performance.now() - startMs) * 1000;
    ours.fill(plan);
    const firstUs = (await plan.run({ signal })).elapsedUs;
    const output = await ours.read(plan);
    await watch.look();
    const table = capture ? [] : await opGroups(plan, TABLE_RUNS, signal);
    const { flops, bytes } = plan.cost;
    const planned = {
      plannedBytes: plan.memory.peakBytes + plan.info.scratchBytes,
      packedBytes: plan.info.packedBytes,
    };
    const peakBytes = watch.peakBytes ?? planned.plannedBytes + planned.packedBytes;
    return {
      name,
      facts: { flops, bytes, loadUs, firstUs, peakBytes, ...planned },
      output,
      table,
      async run(repeats) {
        const times: number[] = [];
        for (let i = 0; i < repeats; i++) times.push((await plan.run({ signal })).elapsedUs);
        return times;
      },
      close: async () => plan.freeSync(),
    };
  } catch (error) {
    plan.freeSync();
    throw error;
  }
}

/** The one tensor of a file that the peer wrote. */
export function readOutput(path: string): Float32Array {
  const file = SafetensorsFile.open(path);
  try {
    return file.readFloat32("output");
  } finally {
    file.close();
  }
}

/** Files through which a part and the peer talk. */
export interface PartFiles {
  inputs: string;
  output: string;
}

/**
 * Makes the peer load a part and run it, which compiles it.
 *
 * @throws VdError with its reason
 */
export async function peerContender(
  peer: PeerProcess,
  part: string,
  mode: PeerMode,
  files: PartFiles,
  reference: Float32Array | undefined,
): Promise<Contender> {
  const request = { part, mode };
  const { loadUs, firstUs, peakBytes, reservedBytes } = await peer.request("prepare", {
    ...request,
    inputs: files.inputs,
  });
  await peer.request("output", { ...request, path: files.output });
  const error = reference && relativeL2(readOutput(files.output), reference);
  return {
    name: peerName(mode),
    facts: {
      loadUs: Number(loadUs),
      firstUs: Number(firstUs),
      ...(typeof peakBytes === "number" ? { peakBytes } : {}),
      ...(typeof reservedBytes === "number" ? { reservedBytes } : {}),
      ...(error === undefined ? {} : { error }),
    },
    run: async (repeats) => (await peer.request("run", { ...request, repeats })).timesUs as number[],
    close: async () => {},
  };
}

/** How rows call a peer. */
export const peerName = (mode: PeerMode): string =>
  ({ eager: "diffusers", compile: "diffusers-compile", onnxruntime: "onnxruntime", tensorrt: "tensorrt" })[mode];

/** Whose reasons stand for themselves: they are in the row of the peer. */
const PEERS = ["diffusers", "pytorch", "onnxruntime", "tensorrt", "seedvr"];

/** Why a contender has no figures, as its row says it. */
export function reasonOf(error: unknown): string {
  if (error instanceof VdError)
    return error.code === "unsupported" && PEERS.includes(error.where) ? error.got : error.message;
  return error instanceof Error ? error.message : String(error);
}
