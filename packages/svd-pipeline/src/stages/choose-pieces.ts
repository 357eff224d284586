import type { Device } from "@vd/kernels-native";
import { OBJECT, requireFields } from "@vd/kernels-native";
import { chooseDecodePieces, type DecodePieces, usableBytes, type VaeStage } from "@vd/vae-opt";
import type { Models } from "../opening/models";
import type { MemoryUse } from "../types";
import { decodeShape, decodeStage, requireShape, type StageShape } from "./definitions";
import type { StageLayouts } from "./stage";

/** How the choice is made. */
export interface ChoosePiecesOptions {
  device: Device;
  memory: MemoryUse;
  layouts: StageLayouts;
  signal?: AbortSignal | undefined;
  /** Weights of other stages that stay on the device meanwhile. */
  residentBytes: number;
}

/** How the decoder goes over the frames within the device's memory: at once, over a few at a time, or in tiles. The frames
 *  are the same. Where even the smallest pieces are too much, the device says so itself. */
export async function choosePieces(
  models: Pick<Models, "vae">,
  shape: StageShape,
  options: ChoosePiecesOptions,
): Promise<DecodePieces> {
  requireFields("choosePieces models", models, { vae: OBJECT });
  requireShape("choosePieces shape", shape);
  requireFields("choosePieces", options, { device: OBJECT, layouts: OBJECT });
  const { vae } = models;
  const { device, memory, layouts, residentBytes, signal } = options;
  const budgetBytes = (await usableBytes(device, memory)) - (device.kind === "cpu" ? 0 : residentBytes);
  const looks: VaeStage[] = [];
  const { pieces, fits } = await chooseDecodePieces(vae, decodeShape(shape, shape.numFrames), {
    budgetBytes,
    async bytesOf(stage) {
      looks.push(stage);
      const { peakBytes, weightBytes } = await layouts.memoryOf(stage, signal);
      return peakBytes + weightBytes;
    },
  });
  const chosen = fits ? pieces : {};
  const { key } = decodeStage({ vae }, { ...shape, decodeChunk: chosen.chunkFrames });
  for (const stage of looks) if (stage.key !== key || chosen.tiles) layouts.forget(stage);
  return chosen;
}
