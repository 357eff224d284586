import {
  type BufferCopy,
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
  type DeviceTeam,
  frameRange,
  type GraphLayout,
  type Plan,
  type PlanMemory,
  packedBytes,
  type TeamMember,
  tensorCopy,
} from "@vd/tensor";
import type { VaeStage } from "../decoding/stages";
import { touchedBytes } from "../host-memory";
import { type DecodePart, type Exchange, ownFrames } from "./decode-part";

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

/** The memory of one device, and its steps, which are loaded one after the other while those before run. */
interface Held {
  arena: DeviceBuffer | undefined;
  steps: Promise<LoadedPart>[];
}

/** Returns the bytes of the arena that all steps of a part can share. @throws VdError `attr` for what is no part */
export async function partArenaBytes(
  part: DecodePart,
  memoryOf: (stage: VaeStage) => Promise<PlanMemory>,
): Promise<number> {
  requireFields("partArenaBytes part", part, PART);
  requireArgument("partArenaBytes memoryOf", memoryOf, FUNCTION);
  let most = 0;
  for (const { stage } of part.steps) most = Math.max(most, (await memoryOf(stage)).arenaBytes);
  return most;
}

/** Allocates what the steps of a device share, and begins to load them. */
async function beginLoading(job: TeamDecode, member: TeamMember, held: Held, stop: AbortSignal): Promise<void> {
  const part = job.parts[member.index]!;
  const arenaBytes = await partArenaBytes(part, async (stage) => (await job.layoutOf(stage)).memory);
  await part.block.allocate(member.device);
  const arena = await member.device.allocate(Math.max(arenaBytes, 1), { cleared: false });
  held.arena = arena;
  let before: Promise<unknown> = Promise.resolve();
  for (const { stage } of part.steps) {
    const loading = before.then(() => {
      throwIfAborted(stop, "decode");
      return job.load(member, stage, arena);
    });
    // Whoever runs the step hears of it.
    loading.catch(() => undefined);
    held.steps.push(loading);
    before = loading;
  }
}

async function release({ block }: DecodePart, { arena, steps }: Held): Promise<void> {
  const settled = await Promise.allSettled(steps);
  await Promise.all(settled.map((step) => step.status === "fulfilled" && step.value.release()));
  await Promise.all([arena?.free(), block.free()]);
}

/** Waits until nothing is under way on any device: what one frees others copy from. */
async function settle(held: readonly Held[]): Promise<void> {
  await Promise.allSettled(held.flatMap(({ steps }) => steps).map(async (step) => (await step).plan.wait()));
}

const planOf = async ({ steps }: Held, step: number): Promise<Plan> => (await steps[step]!).plan;

/** What a device's step begins with: frames next to its own from its neighbours' maps, and statistics of all devices' frames. */
function copiesBefore(parts: readonly DecodePart[], index: number, step: number): BufferCopy[] {
  if (step === 0) return [];
  const exchangeOf = (i: number): Exchange => parts[i]!.steps[step - 1]!.exchange!;
  const { run, statistics } = parts[index]!;
  const { map } = exchangeOf(index);
  const last = map.dims[1]! - 1;
  const own = (i: number) => ownFrames(exchangeOf(i).map, parts[i]!.run);
  const copies: BufferCopy[] = [];
  if (run.neighbours[0]) {
    const before = own(index - 1);
    const numFrames = before.dims[1]!;
    copies.push(tensorCopy(frameRange(map, 0, 1), frameRange(before, numFrames - 1, numFrames)));
  }
  if (run.neighbours[1]) copies.push(tensorCopy(frameRange(map, last, last + 1), frameRange(own(index + 1), 0, 1)));
  for (const [i, { run: from }] of parts.entries()) {
    const found = exchangeOf(i).statistics;
    if (found) copies.push(tensorCopy(frameRange(statistics, from.begin, from.end), found));
  }
  return copies;
}

/** Queues a step on all devices, behind the one before on all of them: by then nobody writes what is copied, nor reads what is written. */
async function queueStep({ team, parts, signal }: TeamDecode, held: readonly Held[], step: number): Promise<void> {
  const after = step === 0 ? [] : await Promise.all(held.map((each) => planOf(each, step - 1)));
  const queue = async ({ index }: TeamMember, stop: AbortSignal) => {
    const plan = await planOf(held[index]!, step);
    await plan.queue({ signal: stop, copies: copiesBefore(parts, index, step), after });
  };
  await team.atOnce(queue, { signal, count: parts.length });
}

/** Writes each device's latents. */
async function writeLatents({ team, parts, latents, signal }: TeamDecode, held: readonly Held[]): Promise<void> {
  const perFrame = latents.length / parts[parts.length - 1]!.run.end;
  await team.atOnce(
    async ({ index }) => {
      const { begin, end } = parts[index]!.run;
      const plan = await planOf(held[index]!, 0);
      await plan.write("latents", latents.subarray(begin * perFrame, end * perFrame));
    },
    { signal, count: parts.length },
  );
}

/** Where outputs of all frames go, each device's behind that of the one before it. */
class Results {
  private readonly memory = new Map<string, Uint8Array<ArrayBuffer>>();

  /** Has the machine's memory come while GPUs compute; CPUs have their own work to do. */
  constructor(
    { team }: TeamDecode,
    private readonly layouts: readonly GraphLayout[],
  ) {
    const isCpu = team.members[0]!.device.kind === "cpu";
    for (const name of ["levels", "frames"]) {
      const bytes = layouts.reduce((sum, layout) => sum + outputBytes(layout, name), 0);
      this.memory.set(name, isCpu ? new Uint8Array(bytes) : touchedBytes(bytes));
    }
  }

  /** Reads a device's frames. */
  async read(plan: Plan, index: number): Promise<void> {
    for (const [name, bytes] of this.memory) {
      const begin = this.layouts.slice(0, index).reduce((sum, layout) => sum + outputBytes(layout, name), 0);
      await plan.readBytes(name, bytes.subarray(begin, begin + outputBytes(this.layouts[index]!, name)));
    }
  }

  get frames(): TeamFrames {
    const { dtype } = this.layouts[0]!.graph.outputs.get("frames")!;
    return { levels: this.memory.get("levels")!, frames: { dtype, bytes: this.memory.get("frames")! } };
  }
}

function outputBytes({ graph }: GraphLayout, name: string): number {
  const { dims, dtype } = graph.outputs.get(name)!;
  return packedBytes(dims, dtype);
}

async function runSteps(job: TeamDecode, held: readonly Held[]): Promise<TeamFrames> {
  const { team, parts, layoutOf, signal } = job;
  const last = parts[0]!.steps.length - 1;
  await writeLatents(job, held);
  const layouts: GraphLayout[] = [];
  for (const { steps } of parts) layouts.push(await layoutOf(steps[last]!.stage));
  const results = new Results(job, layouts);
  for (let step = 0; step <= last; step++) await queueStep(job, held, step);
  const read = async ({ index }: TeamMember) => {
    const plan = await planOf(held[index]!, last);
    await plan.wait();
    await results.read(plan, index);
  };
  await team.atOnce(read, { signal, count: parts.length });
  return results.frames;
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
  const ended = new AbortController();
  const stop = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal;
  try {
    const begin = (member: TeamMember) => beginLoading(job, member, held[member.index]!, stop);
    await team.atOnce(begin, { signal, count: parts.length });
    return await runSteps(job, held);
  } catch (error) {
    ended.abort();
    await settle(held);
    throw error;
  } finally {
    // What lies on a device that was lost is gone; the others free theirs.
    await Promise.allSettled(parts.map((part, i) => release(part, held[i]!)));
  }
}
