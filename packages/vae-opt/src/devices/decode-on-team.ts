import {
  type DeviceBuffer,
  type DType,
  FLOATS_32,
  FUNCTION,
  having,
  listOf,
  OBJECT,
  requireArgument,
  requireFields,
  throwIfAborted,
} from "@vd/kernels-native";
import {
  copyTensor,
  type DeviceTeam,
  frameRange,
  type GraphLayout,
  type Plan,
  runInSlices,
  type TeamMember,
  type Tensor,
} from "@vd/tensor";
import { joinStatistics } from "../decoding/norm-statistics";
import type { VaeStage } from "../decoding/stages";
import { type DecodePart, ownFrames, STATISTICS } from "./decode-part";

/** A stage on a device. */
export interface LoadedPart {
  plan: Plan;
  release(): Promise<void>;
}

/** A decode that the devices of a team share. */
export interface TeamDecode {
  team: DeviceTeam;
  /** For each device its part; fewer than devices for a clip of few frames. */
  parts: readonly DecodePart[];
  /** [F,C,h,w]. */
  latents: Float32Array;
  layoutOf(stage: VaeStage): Promise<GraphLayout>;
  /** Loads a stage whose intermediate tensors lie in `arena`. */
  load(member: TeamMember, stage: VaeStage, arena: DeviceBuffer): Promise<LoadedPart>;
  signal?: AbortSignal | undefined;
}

const PART = { steps: listOf(OBJECT) };
const JOB = {
  ...{ team: having("a DeviceTeam", ["atOnce"]), latents: FLOATS_32, layoutOf: FUNCTION, load: FUNCTION },
  parts: listOf(having("a part of a decode", ["run", "block", "steps"], "decodePart returns one.")),
};

/** Decoded frames, [F,H,W,3]. */
export interface TeamFrames {
  /** In 8 bits. */
  levels: Uint8Array;
  /** In about [-1,1], as the devices stored them. */
  frames: { dtype: DType; bytes: Uint8Array };
}

/** The memory and the loaded steps of one device. */
interface Held {
  arena: DeviceBuffer | undefined;
  steps: LoadedPart[];
}

/** Returns the bytes of the arena that all steps of a part can share. @throws VdError `attr` for what is no part */
export async function partArenaBytes(part: DecodePart, layoutOf: TeamDecode["layoutOf"]): Promise<number> {
  requireFields("partArenaBytes part", part, PART);
  requireArgument("partArenaBytes layoutOf", layoutOf, FUNCTION);
  let most = 0;
  for (const { stage } of part.steps) most = Math.max(most, (await layoutOf(stage)).memory.arenaBytes);
  return most;
}

async function loadPart(job: TeamDecode, member: TeamMember, held: Held, signal: AbortSignal): Promise<void> {
  const part = job.parts[member.index]!;
  const arenaBytes = await partArenaBytes(part, job.layoutOf);
  await part.block.allocate(member.device);
  held.arena = await member.device.allocate(Math.max(arenaBytes, 1), { cleared: false });
  for (const { stage } of part.steps) {
    throwIfAborted(signal, "decode");
    held.steps.push(await job.load(member, stage, held.arena));
  }
}

async function release({ block }: DecodePart, { arena, steps }: Held): Promise<void> {
  for (const step of steps) await step.release();
  await arena?.free();
  await block.free();
}

/** The frames next to a device's own come from its neighbours' maps. */
async function takeNeighbours(parts: readonly DecodePart[], index: number, step: number): Promise<void> {
  const mapOf = (i: number): Tensor => parts[i]!.steps[step]!.exchange!.map;
  const [map, run] = [mapOf(index), parts[index]!.run];
  const last = map.dims[1]! - 1;
  const copies: Promise<void>[] = [];
  const own = (i: number) => ownFrames(mapOf(i), parts[i]!.run);
  if (run.neighbours[0]) {
    const before = own(index - 1);
    const numFrames = before.dims[1]!;
    copies.push(copyTensor(frameRange(map, 0, 1), frameRange(before, numFrames - 1, numFrames)));
  }
  if (run.neighbours[1]) copies.push(copyTensor(frameRange(map, last, last + 1), frameRange(own(index + 1), 0, 1)));
  await Promise.all(copies);
}

/** Runs a step on all devices, then exchanges what the next one needs. */
async function runStep(job: TeamDecode, held: readonly Held[], step: number): Promise<void> {
  const { team, parts, signal } = job;
  const options = { signal, count: parts.length };
  const exchange = parts[0]!.steps[step]!.exchange;
  const found = await team.atOnce(async ({ index }, stop) => {
    const { plan } = held[index]!.steps[step]!;
    await plan.run({ signal: stop });
    return exchange?.eps === undefined ? new Float32Array() : plan.read(STATISTICS);
  }, options);
  if (!exchange) return;
  const weights = found.map((values, i) => ({ values, weight: parts[i]!.run.end - parts[i]!.run.begin }));
  const joined = exchange.eps === undefined ? undefined : joinStatistics(weights, exchange.eps);
  await team.atOnce(async ({ index }) => {
    await takeNeighbours(parts, index, step);
    if (joined) await held[index]!.steps[step + 1]!.plan.write(STATISTICS, joined);
  }, options);
}

/** Writes each device's latents. */
async function writeLatents({ team, parts, latents, signal }: TeamDecode, held: readonly Held[]): Promise<void> {
  const perFrame = latents.length / parts[parts.length - 1]!.run.end;
  await team.atOnce(
    async ({ index }) => {
      const { begin, end } = parts[index]!.run;
      await held[index]!.steps[0]!.plan.write("latents", latents.subarray(begin * perFrame, end * perFrame));
    },
    { signal, count: parts.length },
  );
}

function* joinBytes(pieces: readonly Uint8Array[]): Generator<undefined, Uint8Array> {
  const result = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    result.set(piece, at);
    at += piece.length;
    yield;
  }
  return result;
}

async function readFrames({ team, parts, signal }: TeamDecode, held: readonly Held[]): Promise<TeamFrames> {
  const read = await team.atOnce(
    async ({ index }) => {
      const { plan } = held[index]!.steps[parts[index]!.steps.length - 1]!;
      const [levels, bytes] = [await plan.readBytes("levels"), await plan.readBytes("frames")];
      return { levels, bytes, dtype: plan.layout.graph.outputs.get("frames")!.dtype };
    },
    { signal, count: parts.length },
  );
  const slices = { signal, where: "decode" };
  const levels = await runInSlices(joinBytes(read.map((each) => each.levels)), slices);
  const bytes = await runInSlices(joinBytes(read.map((each) => each.bytes)), slices);
  return { levels, frames: { dtype: read[0]!.dtype, bytes } };
}

/**
 * Decodes a clip on several devices at once, each with its run of frames.
 *
 * @throws VdError what a device throws, with its name; `memory` where a part does not fit; `cancelled` once the signal has fired; `attr`
 *   for what is no decode. Everything that was loaded is then freed
 */
export async function decodeOnTeam(job: TeamDecode): Promise<TeamFrames> {
  requireFields("decodeOnTeam", job, JOB);
  const { team, parts, signal } = job;
  const held: Held[] = parts.map(() => ({ arena: undefined, steps: [] }));
  const options = { signal, count: parts.length };
  try {
    await team.atOnce((member, stop) => loadPart(job, member, held[member.index]!, stop), options);
    await writeLatents(job, held);
    for (let step = 0; step < parts[0]!.steps.length; step++) await runStep(job, held, step);
    return await readFrames(job, held);
  } finally {
    // What lies on a device that was lost is gone; the others free theirs.
    await Promise.allSettled(parts.map((part, i) => release(part, held[i]!)));
  }
}
