import type { GraphLayout } from "@vd/tensor";
import { type DecodePart, receivedBytes } from "@vd/vae-opt";
import { stepNeeds } from "../denoising/chosen-sampling";
import type { GenerationContext } from "../generation/context";
import { conditionStage, decodeShape, embedImageStage, encodeImageStage, startStage } from "../stages/definitions";
import type { StageDefinition } from "../stages/stage";
import { bytesOfPart, decodeParts, fittingParts } from "./decode-on-devices";
import { rowStagesOf } from "./denoise-rows";

/** What happens at the same time on all devices. */
export type TeamPhase = "encode" | "condition" | "denoise" | "decode";

/** A stage that a device of a team runs by itself. */
export interface MemberStage {
  phase: TeamPhase;
  stage: StageDefinition;
  runs: number;
}

/** What decides the stages of a team. */
type StagesContext = Pick<GenerationContext, "models" | "components" | "shape" | "sampling" | "denoiser">;

/** Returns the stages before decoding of device `index`, in their order: the first encodes the picture while the second embeds it, and each
 *  of the two denoises a row. */
export function stagesOfMember(context: StagesContext, index: number): MemberStage[] {
  const { models, components, shape, sampling, denoiser } = context;
  const needs = stepNeeds(sampling);
  const once = (phase: TeamPhase, stage: StageDefinition): MemberStage => ({ phase, stage, runs: 1 });
  const embed = once("encode", embedImageStage(models, components.clipPixels.size, shape.dtype));
  const first = [once("encode", encodeImageStage(models, shape)), once("condition", conditionStage(models, shape))];
  const before = [first, [embed]][index] ?? [];
  if (denoiser !== undefined) return before;
  const runs = sampling.sampler.numModelCalls;
  const rows = rowStagesOf(context, index).map((stage): MemberStage => ({ phase: "denoise", stage, runs }));
  const starts = needs && rows.length > 0 ? [once("denoise", startStage(models, shape))] : [];
  return [...before, ...starts, ...rows];
}

/** A stage of a device with its memory and cost; a part of the decoder, which is many plans, as one. */
export interface MemberLayout {
  phase: TeamPhase;
  name: string;
  runs: number;
  /** Of the plans that it consists of. */
  layouts: readonly GraphLayout[];
  /** Activations, inputs and outputs. */
  ownBytes: number;
}

/** What one device of a team does. */
export interface MemberPlan {
  layouts: MemberLayout[];
  /** Rows of guidance that it denoises: 0 the unconditional one, 1 the conditional one. */
  rows: number[];
  /** The run of frames that it decodes; undefined where it has none. */
  frames: readonly [begin: number, end: number] | undefined;
  /** Bytes that it gets from other devices in the whole generation. */
  receivedBytes: number;
}

/** Parts of the decoder by device; the smallest chunks where nothing fits. */
async function partsOf(context: GenerationContext): Promise<DecodePart[]> {
  const { team, shape, checked } = context;
  if (checked.outputType === "latent" || shape.numFrames < 2) return [];
  const fitting = await fittingParts(context, team!, shape.numFrames);
  return fitting ?? decodeParts(context, shape.numFrames, team!.size, 1);
}

async function planMember(
  context: GenerationContext,
  index: number,
  part: DecodePart | undefined,
): Promise<MemberPlan> {
  const { layouts: known, models, shape, sampling, denoiser, options } = context;
  const layouts: MemberLayout[] = [];
  for (const { phase, stage, runs } of stagesOfMember(context, index)) {
    const layout = await known.inSlices(stage, options.signal);
    layouts.push({ phase, name: stage.name, runs, layouts: [layout], ownBytes: layout.memory.peakBytes });
  }
  const steps: GraphLayout[] = [];
  for (const { stage } of part?.steps ?? []) steps.push(await known.inSlices(stage, options.signal));
  if (part) {
    const { ownBytes } = await bytesOfPart(part, context);
    layouts.push({ phase: "decode", name: "decode", runs: 1, layouts: steps, ownBytes });
  }
  const denoises = denoiser === undefined;
  const rows = denoises && index < shape.rows ? [shape.rows === 2 ? index : 1] : [];
  const prediction = layouts.find(({ name }) => name === "denoise")?.layouts[0]?.graph.outputs.get("prediction");
  const exchanged = rows.length > 0 && shape.rows === 2 && prediction ? prediction.storage.bytes : 0;
  const received = part ? receivedBytes(models.vae, decodeShape(shape, shape.numFrames), part.run) : 0;
  return {
    ...{ layouts, rows, frames: part && ([part.run.begin, part.run.end] as const) },
    receivedBytes: exchanged * sampling.sampler.numModelCalls + received,
  };
}

/**
 * Lays out what each device of the context's team does in a generation. The event loop turns meanwhile.
 *
 * @throws VdError from the ops' checks, `cancelled` once the signal has fired
 */
export async function planTeam(context: GenerationContext): Promise<MemberPlan[]> {
  const parts = await partsOf(context);
  const plans: MemberPlan[] = [];
  for (const { index } of context.team!.members) plans.push(await planMember(context, index, parts[index]));
  return plans;
}
