import type { Device } from "@vd/kernels-native";
import type { SharedBlock } from "@vd/tensor";
import { type CallKind, CallPlanner, countCalls } from "../denoising/call-planner";
import { CallStepper } from "../denoising/call-stepper";
import { stepNeeds } from "../denoising/chosen-sampling";
import type { ChosenCalls } from "../denoising/chosen-savings";
import type { Stepper } from "../denoising/denoise";
import { type StepConstants, writeStepConstants } from "../denoising/step-constants";
import { type CallNeeds, callStage } from "../stages/call-stages";
import type { CountedCall } from "../stages/generation-stages";
import type { StageDefinition } from "../stages/stage";
import { type GenerationContext, type GenerationRun, latentDims } from "./context";
import { denoiseCompile } from "./denoise-compile";
import type { Beginning } from "./denoise-latents";

/** The stages of a generation's kinds of calls, and the block of memory that they share. */
function stagesOf(context: GenerationContext, { savings, kinds }: ChosenCalls) {
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
  const { calls, sampling, shape } = context;
  if (!calls) return undefined;
  const { fewest, most } = countCalls(sampling.sampler, shape.rows, calls.savings);
  return [...stagesOf(context, calls).stages]
    .filter(([kind]) => most[kind] > 0)
    .map(([kind, stage]) => ({ stage, runs: most[kind], fewestRuns: fewest[kind] }));
}

/** The operands of a call without guidance: the conditional row's. */
function unguidedConstants({ cross, ...rest }: StepConstants): StepConstants {
  return { ...rest, cross: cross.subarray(cross.length / 2), guidance: undefined };
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
  const { stages, block }: { stages: Map<CallKind, StageDefinition>; block: SharedBlock } = stagesOf(context, calls);
  const kinds = [...stages.keys()];
  const isDrawn = sampling.stepNoise === "cuda";
  return loader.runByTurns(
    [...stages.values()],
    block,
    async (loaded) => {
      const plans = new Map(loaded.map((plan, i) => [kinds[i]!, plan]));
      for (const [kind, plan] of plans) {
        if (kind === "skipped") continue;
        const isUnguided = constants.guidance !== undefined && kind.startsWith("unguided");
        await writeStepConstants(plan, isUnguided ? unguidedConstants(constants) : constants);
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
          noise: () => noise.forStep(),
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
