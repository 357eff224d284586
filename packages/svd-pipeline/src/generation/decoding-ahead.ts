import type { GenerationContext } from "./context";
import { decodesBesideDenoiser } from "./memory-phases";
import { decodingOf } from "./prepare-decoding";

/** Returns the working memory of a decoder that may be loaded while the denoiser is, where they take turns in one; 0 where it may not. */
export async function decodingAheadBytes(context: GenerationContext): Promise<number> {
  const { shape, checked, options, layouts, device, keepsStages, calls, decodesAlone } = context;
  const stage = decodingOf(context);
  const isWhole = shape.clipFrames === undefined && !checked.isolateDecodeChunks;
  if (!stage || !isWhole || keepsStages || calls || decodesAlone || options.onPreview) return 0;
  const memory = await layouts.memoryOf(stage, options.signal);
  return (await decodesBesideDenoiser(context, device, memory)) ? memory.arenaBytes : 0;
}
