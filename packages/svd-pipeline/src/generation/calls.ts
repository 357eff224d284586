import type { Device } from "@vd/kernels-native";
import type { SharedBlock } from "@vd/tensor";
import { addCalls, type CallKind, CallPlanner, countCalls } from "../denoising/call-planner";
import { CallStepper } from "../denoising/call-stepper";
import { stepNeeds } from "../denoising/chosen-sampling";
import type { ChosenCalls } from "../denoising/chosen-savings";
import type { Stepper } from "../denoising/denoise";
import { type StepConstants, writeStepConstants } from "../denoising/step-constants";
import { type CallNeeds, callStage, predictStage } from "../stages/call-stages";
import { denoisedShape } from "../stages/definitions";
import type { CountedCall } from "../stages/generation-stages";
import type { StageDefinition } from "../stages/stage";
import { type GenerationContext, type GenerationRun, latentDims } from "./context";
import { denoiseCompile } from "./denoise-compile";
import type { Beginning } from "./denoise-latents";
import { prepareDecoding } from "./prepare-decoding";
import { clipsOf } from "./steering/clips-of";
import { lookingBack } from "./steering/known-frames";

/** The stages of a generation's kinds of calls, and the block of memory that they share. */
interface KindStages {
  stages: Map<CallKind, StageDefinition>;
  block: SharedBlock;
}

/** Returns the stages of the kinds of calls of clips, whose steps are taken on the host; a skipped one has none. */
export function clipStagesOf(
  { models, shape, layouts }: Pick<GenerationContext, "models" | "shape" | "layouts">,
  { savings, kinds }: ChosenCalls,
): KindStages {
  const reuses = savings.featureInterval > 1;
  const key = `calls of clips ${reuses} ${shape.rowsApart}`;
  const block = layouts.blockOf(key);
  const stageOf = (kind: CallKind): StageDefinition => ({
    ...predictStage(models, denoisedShape(shape), { kind, reuses, memory: block }),
    key: `${key} ${kind}`,
  });
  const made = kinds.filter((kind) => kind !== "skipped");
  return { stages: new Map(made.map((kind) => [kind, stageOf(kind)])), block };
}

function stagesOf(context: GenerationContext, { savings, kinds }: ChosenCalls): KindStages {
  const { models, shape, sampling, layouts } = context;
  const needs: CallNeeds = {
    ...stepNeeds(sampling)!,
    reuses: savings.featureInterval > 1,
    measures: savings.changeThreshold > 0,
  };
  const key = `calls ${JSON.stringify(needs)} ${shape.rowsApart}`;
  const block = layouts.blockOf(key);
  const stages = new Map<CallKind, StageDefinition>();
  for (const kind of kinds) {
    const stage = callStage(models, shape, needs, kind, block);
    stages.set(kind, { ...stage, key: `${key} ${kind}` });
  }
  return { stages, block };
}

/** Returns the stages of a generation's calls and how often each runs; undefined where all are made in full. */
export function countedCalls(context: GenerationContext): CountedCall[] | undefined {
  const { calls, shape } = context;
  if (!calls) return undefined;
  const { fewest, most } = countsOf(context, calls);
  const { stages } = shape.clipFrames === undefined ? stagesOf(context, calls) : clipStagesOf(context, calls);
  return [...stages]
    .filter(([kind]) => most[kind] > 0)
    .map(([kind, stage]) => ({ stage, runs: most[kind], fewestRuns: fewest[kind] }));
}

/** How often each kind of call is made, of all clips together. */
function countsOf(context: GenerationContext, { savings }: ChosenCalls) {
  const { sampling, shape } = context;
  const count = (numCalls?: number) => countCalls(sampling.sampler, shape.rows, savings, numCalls);
  if (shape.clipFrames === undefined) return count();
  const { clips, between } = clipsOf(context);
  const whole = count();
  const back = count(lookingBack(sampling.sampler));
  const all = [...clips, ...between].flatMap(({ isBounded }) => (isBounded ? [whole, back] : [whole]));
  return { fewest: addCalls(all.map((each) => each.fewest)), most: addCalls(all.map((each) => each.most)) };
}

/** Returns the operands of a kind of call: without guidance those of the conditional row. */
export function constantsOf(kind: CallKind, constants: StepConstants): StepConstants {
  if (constants.guidance === undefined || !kind.startsWith("unguided")) return constants;
  const { cross } = constants;
  return { ...constants, cross: cross.subarray(cross.length / 2), guidance: undefined };
}

/** Loads the stages of all kinds of calls, and hands over what starts a generation where it begins. */
export async function withCalls<T>(
  run: GenerationRun,
  calls: ChosenCalls,
  constants: StepConstants,
  device: Device,
  body: (start: (begin: Beginning) => Promise<Stepper>) => Promise<T>,
): Promise<T> {
  const { context, loader, noise } = run;
  const { sampling, shape, scratch, options } = context;
  const { stages, block } = stagesOf(context, calls);
  const kinds = [...stages.keys()];
  const isDrawn = sampling.stepNoise === "cuda";
  return loader.runByTurns(
    [...stages.values()],
    block,
    async (loaded) => {
      const plans = new Map(loaded.map((plan, i) => [kinds[i]!, plan]));
      for (const [kind, plan] of plans) {
        if (kind === "skipped") continue;
        await writeStepConstants(plan, constantsOf(kind, constants));
      }
      return body(({ latents, after }) =>
        CallStepper.start({
          memory: after?.memory,
          ...{
            plans,
            latents,
            scratch,
            dims: latentDims(context),
            sampler: sampling.sampler,
            linear: sampling.linear!,
          },
          planner: new CallPlanner(sampling.sampler, shape.rows, calls.savings),
          measures: calls.savings.changeThreshold > 0,
          philox: isDrawn ? () => noise.philoxForStep() : undefined,
          noise: () => noise.pixelsForStep(),
          drawNoiseAhead: () => noise.drawStepAhead(),
          whileComputing: () => prepareDecoding(run),
          signal: options.signal,
          onCall: (kind) => {
            run.callsMade[kind]++;
          },
        }),
      );
    },
    { ...denoiseCompile(context, device), device },
  );
}
