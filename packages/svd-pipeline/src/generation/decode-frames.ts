import { frameChunks, observed, type Plan, packedBytes, runInSlices } from "@vd/tensor";
import {
  type DecodePieces,
  decodeInTiles,
  describePieces,
  type HostMap,
  joinedFrames,
  smallerPieces,
  type TileChoice,
  touchedBytes,
  type VaeStage,
} from "@vd/vae-opt";
import { decodeOnDevices } from "../devices/decode-on-devices";
import { decodeShape, decodeStage } from "../stages/definitions";
import { isOutOfMemory } from "../stages/out-of-memory";
import type { GenerationRun } from "./context";
import { joinedBytes } from "./joined-bytes";
import { memoryAdvice } from "./memory-advice";
import type { GenerationState } from "./resume/generation-state";
import { together } from "./together";
import type { DecodedFrames } from "./video";

/** Decodes all frames, in one clip or, if asked for, in chunks that do not see each other. latents: [F,C,h,w]. */
export async function decodeFrames(run: GenerationRun, latents: Float32Array): Promise<DecodedFrames> {
  const { context, progress } = run;
  const { isolateDecodeChunks, decodeChunk, numFrames, width, height } = context.checked;
  const chunks = frameChunks(numFrames, isolateDecodeChunks ? (decodeChunk ?? numFrames) : numFrames);
  const perFrame = latents.length / numFrames;
  const parts: DecodedFrames[] = [];
  progress.report("decode", 0, chunks.length);
  if (context.decodesAlone && !context.keepsStages)
    await observed(context.options.profiler, "trim", () => context.device.trim());
  for (const [begin, end] of chunks) {
    const part = await decodeKept(run, latents.subarray(begin * perFrame, end * perFrame), begin, end - begin);
    parts.push(part);
    context.options.onFrames?.({ first: begin, numFrames: end - begin, width, height, frames: part.data });
    progress.report("decode", parts.length, chunks.length);
  }
  return parts.length === 1 ? parts[0]! : joinClips(run, parts);
}

/** Decodes one clip, or reads the frames that an earlier run has decoded and kept. */
async function decodeKept(run: GenerationRun, latents: Float32Array, begin: number, numFrames: number) {
  const { state } = run.context;
  const kept = await state?.frames(begin);
  if (kept) return kept;
  const decoded = await decodeClip(run, latents, numFrames, state);
  await state?.keepFrames(begin, decoded);
  return decoded;
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

/** Decodes one clip; in smaller pieces, with the same frames, where the device runs out of memory after all. */
async function decodeClip(
  run: GenerationRun,
  latents: Float32Array,
  numFrames: number,
  state?: GenerationState,
): Promise<DecodedFrames> {
  const { models, layouts, options, shape } = run.context;
  const shared = await decodeOnDevices(run, latents, numFrames);
  if (shared) return shared;
  const failed = { vae: models.vae, shape: decodeShape(shape, numFrames) };
  for (let pieces = plannedPieces(run, numFrames); ; ) {
    try {
      return await decodePieces(run, latents, { pieces, numFrames, state });
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      const memoryOf = (stage: VaeStage) => layouts.memoryOf(stage, options.signal);
      const smaller = await smallerPieces({ ...failed, pieces, memoryOf });
      if (!smaller) throw await memoryAdvice(run.context, run.context.device, error);
      const [before, after] = [pieces, smaller].map(describePieces);
      run.progress.report("decode", 0, 1, {
        message: `The device ran out of memory decoding ${before}; now ${after}.`,
      });
      pieces = smaller;
    }
  }
}

/** What was planned for the whole clip; parts of it, and previews, are decoded at once. */
function plannedPieces({ context }: GenerationRun, numFrames: number): DecodePieces {
  const { decodeChunk, decodeTiles: tiles } = context.shape;
  return { chunkFrames: decodeChunk, tiles: numFrames === context.shape.numFrames ? tiles : undefined };
}

/** Returns what `body` makes while others run, once those have ended, also when one of them fails. */
async function besides<T>(running: Promise<unknown>, body: () => T | Promise<T>): Promise<T> {
  const [, made] = await together<[unknown, T]>([running, Promise.resolve().then(body)]);
  return made;
}

/** Memory of the machine for an output, which comes while the plan runs. */
function memoryForOutput(plan: Plan, name: string): Uint8Array<ArrayBuffer> {
  const { dims, dtype } = plan.layout.graph.outputs.get(name)!;
  return touchedBytes(packedBytes(dims, dtype));
}

function decodePieces(
  run: GenerationRun,
  latents: Float32Array,
  { pieces, numFrames, state }: { pieces: DecodePieces; numFrames: number; state: GenerationState | undefined },
): Promise<DecodedFrames> {
  const { models, device, options } = run.context;
  const shape = { ...run.context.shape, decodeChunk: pieces.chunkFrames };
  if (pieces.tiles) return decodeTiles(run, latents, { tiles: pieces.tiles, numFrames, state });
  return run.loader.run(decodeStage(models, shape, numFrames), async (plan) => {
    await plan.write("latents", latents);
    const running = plan.run({ signal: options.signal });
    // While a GPU computes; a CPU has its own work to do.
    const memory = () => (device.kind === "cpu" ? [] : ["levels", "frames"].map((name) => memoryForOutput(plan, name)));
    const [levels, frames] = await besides(running, memory);
    run.loader.beginToFreeLeft();
    const data = await plan.readBytes("levels", levels);
    const bytes = await plan.readBytes("frames", frames);
    return { data, raw: { dtype: plan.layout.graph.outputs.get("frames")!.dtype, bytes } };
  });
}

async function decodeTiles(
  run: GenerationRun,
  latents: Float32Array,
  { tiles, numFrames, state }: { tiles: TileChoice; numFrames: number; state: GenerationState | undefined },
): Promise<DecodedFrames> {
  const { models, shape, options } = run.context;
  const results = await decodeInTiles({
    ...{ vae: models.vae, shape: decodeShape(shape, numFrames), tiles, latents, signal: options.signal },
    outputs: ["frames", "levels"],
    kept: state?.maps(tiles),
    device: run.context.device,
    onDeviceBytes: (bytes) => run.loader.hold(bytes),
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
