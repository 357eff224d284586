import { decodedShape, decodeStage } from "../stages/definitions";
import type { StageDefinition } from "../stages/stage";
import type { GenerationContext, GenerationRun } from "./context";

/** Returns the stage that decodes a whole clip at the generation's end; undefined where none does, or several devices or tiles do. */
export function decodingOf({ models, shape, checked, team }: GenerationContext): StageDefinition | undefined {
  if (team || checked.outputType === "latent" || shape.decodeTiles) return undefined;
  return decodeStage(models, decodedShape(shape));
}

/** Loads the decoder on a GPU, or prepares what loading it will need, while that makes a call of the denoiser; a CPU has its own work to do. */
export function prepareDecoding({ context, loader, arenaAhead }: GenerationRun): void {
  const stage = decodingOf(context);
  if (!stage || loader.isAhead(stage)) return;
  if (arenaAhead) loader.loadAhead(stage, { lane: "decoder", shared: arenaAhead });
  else if (context.device.kind !== "cpu") loader.prepareAhead(stage);
}
