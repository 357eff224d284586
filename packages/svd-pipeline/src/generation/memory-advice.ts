import { type Device, isVdError, VdError } from "@vd/kernels-native";
import { chooseDecodePieces, usableBytes } from "@vd/vae-opt";
import { MEMORY_USES, type MemoryUse } from "../options/choices";
import { chooseDenoising, denoiseBytes } from "../stages/choose-denoising";
import { decodedShape, decodeShape, type StageShape } from "../stages/definitions";
import { StageLayouts } from "../stages/stage";
import type { GenerationContext } from "./context";
import { denoisingChoice } from "./layout-stages";

/** Sides of advised sizes are multiples of it. */
const SIDE_STEP = 64;
/** Shares of the asked number of frames and of the asked sides that are looked at, the largest first. */
const SHARES = [0.8, 0.6, 0.4, 0.25] as const;

/** The context of a generation of another shape. */
function reshaped(context: GenerationContext, shape: Partial<StageShape>): GenerationContext {
  return { ...context, shape: { ...context.shape, ...shape }, layouts: new StageLayouts() };
}

/** Whether denoising and decoding fit into some bytes, each in the way that takes least. */
async function fits(context: GenerationContext, budgetBytes: number): Promise<boolean> {
  const { models, shape, layouts, options } = context;
  const choice = denoisingChoice(context);
  const way = await chooseDenoising(shape, budgetBytes, choice);
  if ((await denoiseBytes(way, choice)) > budgetBytes) return false;
  const decoded = decodedShape(shape);
  const { fits: decodes } = await chooseDecodePieces(models.vae, decodeShape(decoded, decoded.numFrames), {
    budgetBytes,
    async bytesOf(stage) {
      const { peakBytes, weightBytes } = await layouts.memoryOf(stage, options.signal);
      return peakBytes + weightBytes;
    },
  });
  return decodes;
}

/** Looks for the first of some shapes that fits. */
async function firstFitting(context: GenerationContext, budgetBytes: number, shapes: readonly Partial<StageShape>[]) {
  for (const shape of shapes) if (await fits(reshaped(context, shape), budgetBytes)) return shape;
  return undefined;
}

/** The memory uses that take less than one. */
const usesBelow = (memory: MemoryUse): MemoryUse[] => MEMORY_USES.slice(MEMORY_USES.indexOf(memory) + 1);

/** What would fit into a device's memory, as the parts of a sentence. */
async function whatFits(context: GenerationContext, device: Device): Promise<string[]> {
  const { shape, checked } = context;
  const found: string[] = [];
  const least = usesBelow(checked.memory).at(-1) ?? checked.memory;
  const budgetBytes = await usableBytes(device, least);
  if (device.kind !== "cpu")
    for (const memory of usesBelow(checked.memory))
      if (await fits(reshaped(context, {}), await usableBytes(device, memory))) {
        found.push(`memory "${memory}"`);
        break;
      }
  const counts = SHARES.map((share) => Math.max(1, Math.floor(share * shape.numFrames)));
  const longest =
    shape.clipFrames === undefined &&
    (await firstFitting(
      context,
      budgetBytes,
      counts.map((numFrames) => ({ numFrames })),
    ));
  if (longest) found.push(`${longest.numFrames} frames`);
  const side = (length: number, share: number) =>
    Math.max(SIDE_STEP, Math.floor((share * length) / SIDE_STEP) * SIDE_STEP);
  const sizes = SHARES.map((share) => ({ width: side(shape.width, share), height: side(shape.height, share) }));
  const largest = await firstFitting(context, budgetBytes, sizes);
  if (largest) found.push(`a size of ${largest.width}x${largest.height}`);
  return found;
}

/** Returns an error of a device without enough memory with what would fit: another memory use, fewer frames, a smaller size. */
export async function memoryAdvice(context: GenerationContext, device: Device, error: unknown): Promise<unknown> {
  if (!isVdError(error)) return error;
  const found = await whatFits(context, device).catch(() => []);
  if (found.length === 0) return error;
  const { where, expected, got } = error;
  const hint = `This would fit: ${found.join(", or ")}.`;
  return new VdError({ code: "memory", where, expected, got, hint, cause: error });
}
