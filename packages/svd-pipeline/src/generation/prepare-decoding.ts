import { decodedShape, decodeStage } from "../stages/definitions";
import type { StageDefinition } from "../stages/stage";
import type { GenerationContext, GenerationRun } from "./context";
import { decodesBesideDenoiser } from "./memory-phases";

/** The stage that decodes a whole clip at the generation's end; undefined where none does, or several devices or tiles do. */
function decodingOf({ models, shape, checked, team }: GenerationContext): StageDefinition | undefined {
  if (team || checked.outputType === "latent" || shape.decodeTiles) return undefined;
  return decodeStage(models, decodedShape(shape));
}

/** Returns the working memory of a decoder that may be loaded while the denoiser is, where they take turns in one; 0 where it may not. */
export async function decodingAheadBytes(context: GenerationContext): Promise<number> {
  const { shape, checked, options, layouts, device, keepsStages, calls, decodesAlone } = context;
  const stage = decodingOf(context);
  const isWhole = shape.clipFrames === undefined && !checked.isolateDecodeChunks;
  if (!stage || !isWhole || keepsStages || calls || decodesAlone || options.onPreview) return 0;
  const memory = await layouts.memoryOf(stage, options.signal);
  return (await decodesBesideDenoiser(context, device, memory)) ? memory.arenaBytes : 0;
}

/** Loads the decoder on a GPU, or prepares what loading it will need, while that makes a call of the denoiser; a CPU has its own work to do. */
export function prepareDecoding({ context, loader, arenaAhead }: GenerationRun): void {
  const stage = decodingOf(context);
  if (!stage || loader.isAhead(stage)) return;
  if (arenaAhead) loader.loadAhead(stage, { lane: "decoder", shared: arenaAhead });
  else if (context.device.kind !== "cpu") loader.prepareAhead(stage);
}
