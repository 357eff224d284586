import { resolve } from "node:path";
import type { RgbImage } from "@vd/media";
import { bundledModelFolder, bundledPicture } from "./bundled";
import type { PipelineFactory } from "./factory";
import type { ModelSource } from "./source";

/** Of pictures of the bundled model's world its autoencoder keeps at least 14 dB, of photographs at most 12.3; measured by
 *  tooling/measure/foreign, with the table in docs/generate.md. */
export const LEAST_WORLD_DB = 13;

/** A picture and the model that is to animate it. */
export interface PicturedModel {
  source: ModelSource;
  /** The picture's name. */
  image: string;
  picture: RgbImage;
}

/**
 * Returns what to tell someone who has the bundled model animate a picture unlike those of its world; undefined for pictures
 * like them, and for other models.
 *
 * @throws VdError what opening and running the autoencoder throws
 */
export async function warnOfForeignPicture(
  { source, image, picture }: PicturedModel,
  { reconstructionSnr }: Pick<PipelineFactory, "reconstructionSnr">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const isBundled = source.kind === "folder" && resolve(source.name) === bundledModelFolder();
  if (!isBundled || image === bundledPicture()) return undefined;
  if ((await reconstructionSnr(source.name, picture, signal)) >= LEAST_WORLD_DB) return undefined;
  return (
    "the bundled model knows only its own little world of balls, hills and pinwheels, and this picture is unlike it, so the " +
    "video will look wrong. For pictures of the real world name a trained checkpoint: " +
    "--model stabilityai/stable-video-diffusion-img2vid for 14 frames, or " +
    "--model stabilityai/stable-video-diffusion-img2vid-xt for 25"
  );
}
