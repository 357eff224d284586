import { decodedShape, decodeStage } from "../stages/definitions";
import type { GenerationRun } from "./context";

/** Prepares what decoding will load on a GPU, while that makes a call of the denoiser; a CPU has its own work to do. */
export function prepareDecoding({ context, loader }: GenerationRun): void {
  const { models, device, shape, checked, team } = context;
  if (device.kind === "cpu" || team || checked.outputType === "latent" || shape.decodeTiles) return;
  loader.prepareAhead(decodeStage(models, decodedShape(shape)));
}
