import { countOf, VdError } from "@vd/kernels-native";
import { type GenerationContext, latentDims } from "../context";
import type { EndlessState } from "./types";

function requireThat(holds: boolean, name: string, expected: string, got: unknown): void {
  if (!holds) throw new VdError({ code: "attr", where: `endless video] [${name}`, expected, got: String(got) });
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

function requireFloats(name: string, values: unknown, length: number): void {
  const fits = values instanceof Float32Array && values.length === length && values.every(Number.isFinite);
  requireThat(fits, name, `${length} finite numbers`, (values as Float32Array | undefined)?.length);
}

/**
 * Checks a state, which may come from anywhere, against a video. context: of one of its clips.
 *
 * @throws VdError `attr`
 */
export function checkState(state: EndlessState, context: GenerationContext): void {
  requireThat(typeof state === "object" && state !== null, "state", "an object", state);
  const { numClips, numFrames, settings, noise, scene, picture } = state;
  requireThat(isCount(numClips) && isCount(numFrames), "state", "numbers of clips and frames", numClips);
  const isNumbers = typeof settings === "object" && settings !== null && Object.values(settings).every(Number.isFinite);
  requireThat(isNumbers, "settings", "numbers", settings);
  const isNoise = noise?.engine instanceof Uint32Array && isCount(noise.philoxOffset);
  requireThat(isNoise, "noise", "the position of a generator", noise);
  const { width, height } = context.shape;
  const pixels = 3 * width * height;
  if (scene) {
    const frame = latentDims(context).slice(1);
    requireFloats("scene.embedding", scene.embedding, context.models.unet.config.crossAttentionDim[0]!);
    requireFloats("scene.known", scene.known, context.checked.overlap * countOf(frame));
    requireFloats("scene.colours", scene.colours, 2 * frame[0]!);
    const isLast = scene.last instanceof Uint8Array && scene.last.length === pixels;
    requireThat(isLast, "scene.last", `a frame of ${pixels} bytes`, scene.last?.length);
    return;
  }
  const area = picture && isCount(picture.width) && isCount(picture.height) ? picture.width * picture.height : 0;
  const isPicture = area > 0 && (picture?.data as Uint8Array | undefined)?.length === 3 * area;
  requireThat(isPicture, "picture", "a picture in bytes", `${picture?.width} x ${picture?.height}`);
}
