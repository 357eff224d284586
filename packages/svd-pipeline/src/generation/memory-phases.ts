import type { Device } from "@vd/kernels-native";
import type { PlanMemory } from "@vd/tensor";
import { usableBytes } from "@vd/vae-opt";
import { KERNEL_BYTES } from "../stages/choose-denoising";
import { decodedShape, decodeStage } from "../stages/definitions";
import type { StageDefinition } from "../stages/stage";
import type { GenerationContext } from "./context";
import { isDenoiser } from "./estimate";
import { generationStagesBefore } from "./stage-counts";

const MEBIBYTE = 2 ** 20;
/** What a GPU takes beside what is planned while weights of all stages stay: kernels' working memory, at most 256 MiB, and the ends of the
 *  pages that thousands of weights lie in. Planned with 9.31 GiB, a generation took 10.0 (`reports/gpu/lowest-h200.json`), of which 0.3 are
 *  left free by `usableBytes`. */
export const BESIDE_BYTES = 384 * MEBIBYTE;

/** Returns the bytes of a GPU's memory that may be planned for one phase of a generation, where weights of all stages stay. */
export async function phaseBudget(device: Device): Promise<number> {
  return (await usableBytes(device, "full")) - BESIDE_BYTES;
}

/** Returns whether a GPU has room for a generation's denoiser beside all weights that stay. */
export async function denoisesWithWeights(context: GenerationContext, device: Device): Promise<boolean> {
  return (await bytesBefore(context)).denoising <= (await phaseBudget(device));
}

const sumOf = <T>(list: readonly T[], bytesOf: (each: T) => number): number =>
  list.reduce((sum, each) => sum + bytesOf(each), 0);
const mostOf = <T>(list: readonly T[], bytesOf: (each: T) => number): number => Math.max(0, ...list.map(bytesOf));

/** What the stages of a generation take before its frames are decoded. */
export interface BytesBefore {
  /** Their weights that stay for the next generation: filters' transforms do not, where stages are loaded for one generation. */
  stays: number;
  /** With all that is loaded ahead while the picture is encoded, where stages that follow each other share their working memory. */
  ahead: number;
  /** While the denoiser runs. */
  denoising: number;
  /** The denoiser's transforms, which are among these. */
  transformed: number;
  /** Working memory of the denoiser, and the most of all stages. */
  arenaBytes: { denoiser: number; all: number };
}

interface MeasuredStage {
  stage: StageDefinition;
  memory: PlanMemory;
}

const weightsThatStay = ({ memory }: MeasuredStage): number => memory.weightBytes - memory.transformedBytes;

/** Of a preview, which is decoded while the denoiser is loaded. */
async function previewBytes({ models, shape, layouts, options }: GenerationContext): Promise<number> {
  if (!options.onPreview) return 0;
  const { peakBytes, transformedBytes } = await layouts.memoryOf(decodeStage(models, shape, 1), options.signal);
  return peakBytes + transformedBytes;
}

/** Of the decoder, from its first run on. */
async function decoderBytes({ models, shape, layouts, checked, options }: GenerationContext): Promise<number> {
  if (checked.outputType === "latent") return 0;
  const { weightBytes, transformedBytes } = await layouts.memoryOf(
    decodeStage(models, decodedShape(shape)),
    options.signal,
  );
  return weightBytes - transformedBytes;
}

/** Returns whether a GPU has room for the decoder, `memory`, beside the denoiser where both take turns in one working memory. */
export async function decodesBesideDenoiser(
  context: GenerationContext,
  device: Device,
  memory: PlanMemory,
): Promise<boolean> {
  const { denoising, ahead, arenaBytes, transformed } = await bytesBefore(context);
  const grows = Math.max(0, memory.arenaBytes - arenaBytes.all);
  // The denoiser's transforms lie where the decoder works later.
  const more = grows - Math.min(Math.max(grows - KERNEL_BYTES, 0), transformed);
  const decoder = memory.stateBytes + memory.ioBytes + memory.transformedBytes;
  const most = Math.max(ahead + more, denoising + (arenaBytes.all - arenaBytes.denoiser) + more + decoder);
  // Two programs are loaded then, and what lies beside what is planned is counted for one.
  return most + KERNEL_BYTES <= (await phaseBudget(device));
}

/** Returns what the stages before decoding take of a GPU, phase by phase. */
export async function bytesBefore(context: GenerationContext): Promise<BytesBefore> {
  const { layouts, options, keepsStages } = context;
  const stages: MeasuredStage[] = [];
  for (const stage of generationStagesBefore(context))
    stages.push({ stage, memory: await layouts.memoryOf(stage, options.signal) });
  // Calls of several kinds share their weights and their working memory.
  const denoisers = stages.filter(({ stage }) => isDenoiser(stage.name));
  const others = stages.filter((each) => !denoisers.includes(each));
  const transformed = mostOf(denoisers, ({ memory }) => memory.transformedBytes);
  const kept = sumOf(others, weightsThatStay) + mostOf(denoisers, weightsThatStay);
  const placed = (each: MeasuredStage) => each.memory.stateBytes + each.memory.ioBytes;
  const arena = (each: MeasuredStage) => each.memory.arenaBytes;
  const beside = await decoderBytes(context);
  const arenaBytes = { denoiser: mostOf(denoisers, arena), all: mostOf(stages, arena) };
  const denoising = beside + kept + transformed + sumOf(denoisers, placed) + arenaBytes.denoiser;
  return {
    stays: keepsStages ? kept + transformed : kept,
    ahead: denoising + sumOf(others, placed) + (arenaBytes.all - arenaBytes.denoiser),
    denoising: denoising + (await previewBytes(context)),
    transformed,
    arenaBytes,
  };
}
