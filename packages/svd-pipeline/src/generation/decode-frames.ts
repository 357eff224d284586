import { frameChunks, runInSlices } from "@vd/tensor";
import { decodeInTiles, type HostMap, joinedFrames, type TileChoice } from "@vd/vae-opt";
import { decodeShape, decodeStage } from "../stages/definitions";
import type { GenerationRun } from "./context";
import { joinedBytes } from "./joined-bytes";
import type { DecodedFrames } from "./video";

/** Decodes all frames, in one clip or, if asked for, in chunks that do not see each other. latents: [F,C,h,w]. */
export async function decodeFrames(run: GenerationRun, latents: Float32Array): Promise<DecodedFrames> {
  const { context, progress } = run;
  const { isolateDecodeChunks, decodeChunk, numFrames, width, height } = context.checked;
  const chunks = frameChunks(numFrames, isolateDecodeChunks ? (decodeChunk ?? numFrames) : numFrames);
  const perFrame = latents.length / numFrames;
  const parts: DecodedFrames[] = [];
  progress.report("decode", 0, chunks.length);
  for (const [begin, end] of chunks) {
    const part = await decodeClip(run, latents.subarray(begin * perFrame, end * perFrame), end - begin);
    parts.push(part);
    context.options.onFrames?.({ first: begin, numFrames: end - begin, width, height, frames: part.data });
    progress.report("decode", parts.length, chunks.length);
  }
  return parts.length === 1 ? parts[0]! : joinClips(run, parts);
}

/** Decodes the middle frame of unfinished latents for the caller to look at. denoised: [F,C,h,w]. */
export async function decodePreview(run: GenerationRun, step: number, denoised: Float32Array): Promise<void> {
  const { shape, checked, options } = run.context;
  const frameLength = denoised.length / shape.numFrames;
  const middle = Math.floor(shape.numFrames / 2);
  const latents = denoised.subarray(middle * frameLength, (middle + 1) * frameLength);
  const { data: frames } = await decodeClip(run, latents, 1);
  options.onPreview?.({ step, width: checked.width, height: checked.height, numFrames: 1, frames });
}

function decodeClip(run: GenerationRun, latents: Float32Array, numFrames: number): Promise<DecodedFrames> {
  const { models, shape, options } = run.context;
  if (shape.decodeTiles && numFrames === shape.numFrames) return decodeTiles(run, latents, shape.decodeTiles);
  return run.loader.run(decodeStage(models, shape, numFrames), async (plan) => {
    await plan.write("latents", latents);
    await plan.run({ signal: options.signal });
    const [data, bytes] = [await plan.readBytes("levels"), await plan.readBytes("frames")];
    return { data, raw: { dtype: plan.layout.graph.outputs.get("frames")!.dtype, bytes } };
  });
}

async function decodeTiles(run: GenerationRun, latents: Float32Array, tiles: TileChoice): Promise<DecodedFrames> {
  const { models, shape, options } = run.context;
  const results = await decodeInTiles({
    ...{ vae: models.vae, shape: decodeShape(shape, shape.numFrames), tiles, latents, signal: options.signal },
    outputs: ["frames", "levels"],
    run: (stage, body) => run.loader.run(stage, body),
  });
  const joined = (map: HostMap) =>
    runInSlices(joinedFrames.inPieces(map), { signal: options.signal, where: "generation" });
  const frames = results.get("frames")!;
  const raw = { dtype: frames.dtype, bytes: await joined(frames) };
  return { data: await joined(results.get("levels")!), raw };
}

async function joinClips({ context }: GenerationRun, parts: readonly DecodedFrames[]): Promise<DecodedFrames> {
  const slices = { signal: context.options.signal, where: "generation" };
  const joined = (pieces: Uint8Array[]) => runInSlices(joinedBytes.inPieces(pieces), slices);
  const raw = { dtype: parts[0]!.raw.dtype, bytes: await joined(parts.map((part) => part.raw.bytes)) };
  return { data: await joined(parts.map((part) => part.data)), raw };
}
