import type { Plan } from "@vd/tensor";
import { stepNeeds } from "../denoising/chosen-sampling";
import type { GenerationContext, GenerationRun } from "../generation/context";
import { denoiseCompile } from "../generation/denoise-compile";
import { startStage } from "../stages/definitions";
import { denoisingStage } from "../stages/generation-stages";
import type { LoadedStage, StageDefinition } from "../stages/stage";
import { bothRowsStage, NUM_ROWS, rowStage } from "./row-stages";
import { SplitDenoiser } from "./split-denoiser";

/** True where two devices denoise, a row of guidance on each. */
export const splitsRows = ({
  team,
  shape,
  denoiser,
}: Pick<GenerationContext, "team" | "shape" | "denoiser">): boolean =>
  team !== undefined && shape.rows === NUM_ROWS && denoiser === undefined;

/** Returns what device `index` of a team does in each call of the denoiser; nothing where it has no row. */
export function rowStagesOf(
  { models, shape, sampling }: Pick<GenerationContext, "models" | "shape" | "sampling">,
  index: number,
): StageDefinition[] {
  const needs = stepNeeds(sampling);
  if (shape.rows === 1) return index === 0 ? [denoisingStage(models, shape, needs)] : [];
  if (index >= NUM_ROWS) return [];
  // Samplers that step on the host do so once.
  const follows = needs || index === 0 ? [bothRowsStage(models, shape, needs)] : [];
  return [rowStage(models, shape, needs), ...follows];
}

/** Loads the denoiser on the devices of both rows at once, hands them over as one plan, and frees them, also when that fails. */
export async function denoiseOnRows<T>(
  { context, loaders }: GenerationRun,
  body: (plan: SplitDenoiser) => Promise<T>,
): Promise<T> {
  const team = context.team!;
  const loaded: LoadedStage[][] = Array.from({ length: NUM_ROWS }, () => []);
  const load = async (device: GenerationContext["device"], index: number) => {
    for (const stage of rowStagesOf(context, index)) {
      const compile = stage.name === "denoise" ? denoiseCompile(context, device) : {};
      loaded[index]!.push(await loaders[index]!.open(stage, compile));
    }
  };
  try {
    const { signal } = context.options;
    await team.atOnce(({ device, index }) => load(device, index), { signal, count: NUM_ROWS });
    return await body(
      new SplitDenoiser(
        team,
        loaded.map(([row, both]) => ({ row: row!.plan, both: both?.plan })),
      ),
    );
  } finally {
    // What lies on a device that was lost is gone; the other one frees its own.
    await Promise.allSettled(loaded.flat().map((stage) => stage.release()));
  }
}

/** What the first call of the denoiser starts from. */
interface RowsStart {
  /** Latents of the picture, [h,w,C]. */
  image: Float32Array;
  /** Noisy latents, [F,C,h,w]. */
  latents: Float32Array;
  inputScale: number;
}

/** Fills the states from which both devices make their next call, each by itself. */
export async function fillRows(run: GenerationRun, plan: SplitDenoiser, input: RowsStart): Promise<void> {
  const { context, loaders, progress } = run;
  const { models, shape, options } = context;
  const fill = (index: number, signal: AbortSignal) => async (start: Plan) => {
    await start.write("latents", input.latents);
    await start.write("image", input.image);
    await start.write("inputScale", [input.inputScale]);
    await start.run({ signal });
    await plan.begin(index, start);
  };
  await progress.scope("start", () =>
    context.team!.atOnce(({ index }, stop) => loaders[index]!.run(startStage(models, shape), fill(index, stop)), {
      signal: options.signal,
      count: NUM_ROWS,
    }),
  );
}
