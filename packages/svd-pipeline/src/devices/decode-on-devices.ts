import { isVdError } from "@vd/kernels-native";
import type { DeviceTeam } from "@vd/tensor";
import {
  type DecodePart,
  decodeOnTeam,
  decodePart,
  frameRuns,
  partArenaBytes,
  usableBytes,
  type VaeStage,
} from "@vd/vae-opt";
import type { GenerationContext, GenerationRun } from "../generation/context";
import { settlePieces } from "../generation/layout-stages";
import type { DecodedFrames } from "../generation/video";
import { decodeShape } from "../stages/definitions";
import type { StageLayouts } from "../stages/stage";

/** Parts by what decides them; they are kept as long as their layouts, which name places in the parts' memory. */
const KNOWN = new WeakMap<StageLayouts, Map<string, DecodePart>>();

/** What decides the parts of a decode. */
export type PartsContext = Pick<GenerationContext, "models" | "shape" | "layouts" | "checked" | "options">;

/** Returns the parts of a decode by `numDevices` devices. chunkFrames: frames that spatial layers compute at a time. */
export function decodeParts(
  { models, shape, layouts }: Pick<PartsContext, "models" | "shape" | "layouts">,
  numFrames: number,
  numDevices: number,
  chunkFrames?: number,
): DecodePart[] {
  const known = KNOWN.get(layouts) ?? new Map<string, DecodePart>();
  KNOWN.set(layouts, known);
  return frameRuns(numFrames, numDevices).map((run) => {
    // Parts of the same stages are the same: layouts name places in the memory of one part.
    const atATime = Math.min(chunkFrames ?? numFrames, run.end - run.begin);
    const key = [numFrames, run.begin, run.end, atATime].join(" ");
    const part = known.get(key) ?? decodePart(models.vae, decodeShape(shape, numFrames), run, atATime);
    known.set(key, part);
    return part;
  });
}

/** Bytes that a part takes of its device. */
export interface PartBytes {
  /** Maps and intermediate tensors. */
  ownBytes: number;
  /** As stored. */
  weightBytes: number;
}

/** Returns what a part takes of its device. */
export async function bytesOfPart(part: DecodePart, { layouts, options }: PartsContext): Promise<PartBytes> {
  // Known also of layouts that were let go of because they do not fit: the next generation does not record them again.
  const memoryOf = (stage: VaeStage) => layouts.memoryOf(stage, options.signal);
  let [ioBytes, weightBytes] = [0, 0];
  for (const { stage } of part.steps) {
    const memory = await memoryOf(stage);
    ioBytes += memory.ioBytes;
    weightBytes += memory.weightBytes;
  }
  return { ownBytes: part.block.bytes + (await partArenaBytes(part, memoryOf)) + ioBytes, weightBytes };
}

/** All frames of a run, half of them, a quarter and so on. */
function chunkLengths(longest: number): number[] {
  const lengths = [longest];
  while (lengths[lengths.length - 1]! > 1) lengths.push(Math.ceil(lengths[lengths.length - 1]! / 2));
  return lengths;
}

/** Returns parts that fit into the devices' memory, of the longest chunks that do; undefined where none do. */
export async function fittingParts(
  context: PartsContext,
  team: DeviceTeam,
  numFrames: number,
): Promise<DecodePart[] | undefined> {
  const { decodeChunk, memory } = context.checked;
  const runs = frameRuns(numFrames, team.size);
  const longest = runs[0]!.end - runs[0]!.begin;
  for (const length of decodeChunk === undefined ? chunkLengths(longest) : [decodeChunk]) {
    const parts = decodeParts(context, numFrames, team.size, length);
    const fits = await Promise.all(
      parts.map(async (part, i) => {
        const { ownBytes, weightBytes } = await bytesOfPart(part, context);
        const { device } = team.members[i]!;
        // Parts of the CPU share its memory.
        const share = device.kind === "cpu" ? team.size : 1;
        return ownBytes + weightBytes <= (await usableBytes(device, memory)) / share;
      }),
    );
    if (fits.every(Boolean)) return parts;
    for (const { stage } of parts.flatMap(({ steps }) => steps)) context.layouts.forget(stage);
  }
  return undefined;
}

/** Decodes a clip on all devices of the team; undefined where there is none, for a single frame, and where it does not fit. latents: [F,C,h,w]. */
export async function decodeOnDevices(
  run: GenerationRun,
  latents: Float32Array,
  numFrames: number,
): Promise<DecodedFrames | undefined> {
  const { context, progress } = run;
  const { team } = context;
  if (!team || numFrames < 2) return undefined;
  try {
    const parts = await fittingParts(context, team, numFrames);
    if (parts) return await decodeParted(run, team, parts, latents);
    progress.report("decode", 0, 1, {
      message: "The frames do not fit into the devices' memory at once. Now one decodes.",
    });
  } catch (error) {
    if (!isVdError(error) || error.code !== "memory") throw error;
    progress.report("decode", 0, 1, { message: `${error.message} Now one device decodes.` });
  }
  await settlePieces(context);
  return undefined;
}

async function decodeParted(
  { context, loaders }: GenerationRun,
  team: DeviceTeam,
  parts: readonly DecodePart[],
  latents: Float32Array,
): Promise<DecodedFrames> {
  const { layouts, options } = context;
  const held = await Promise.all(parts.map(async (part) => (await bytesOfPart(part, context)).ownBytes));
  const count = (sign: 1 | -1) =>
    held.forEach((bytes, i) => {
      loaders[i]!.memory.ownBytes += sign * bytes;
    });
  count(1);
  try {
    const { levels, frames } = await decodeOnTeam({
      ...{ team, parts, latents, signal: options.signal },
      layoutOf: (stage) => layouts.inSlices(stage, options.signal),
      load: ({ index }, stage, arena) => loaders[index]!.open(stage, { arena }),
    });
    return { data: levels, raw: frames };
  } finally {
    count(-1);
  }
}
