import { COUNT, NUMBER, oneOfThese, requireArgument } from "@vd/kernels-native";
import { cast, DTYPE, type LatentDtype } from "./arithmetic/values";
import { linspaceFloat32 } from "./schedule/ranges";

/** Every way in which the guidance scale runs over the frames of a video, the default first. */
export const guidanceShapes = ["linear", "triangle"] as const;

/** One of {@link guidanceShapes}. */
export type GuidanceShape = (typeof guidanceShapes)[number];

const round = Math.fround;

const SHAPE = oneOfThese(guidanceShapes);

/** Refuses what no scales can be made of. @throws VdError `attr` */
function checkScales(min: number, max: number, numFrames: number, dtype: LatentDtype): void {
  requireArgument("guidance min", min, NUMBER);
  requireArgument("guidance max", max, NUMBER);
  requireArgument("numFrames", numFrames, COUNT);
  requireArgument("guidance dtype", dtype, DTYPE);
}

function inDtype(data: Float32Array, dtype: LatentDtype): Float32Array {
  return cast({ data, dtype: "float32" }, dtype).data;
}

/**
 * Guidance scales [numFrames] rising (or falling) evenly from `min` at the first frame to `max` at the last; one frame
 * gets `min`. In float32, then rounded to the latents' type. Throws `attr`. Source: huggingface/diffusers@58eb52c
 * pipelines/stable_video_diffusion/pipeline_stable_video_diffusion.py.
 */
export function linearGuidance(
  min: number,
  max: number,
  numFrames: number,
  dtype: LatentDtype = "float32",
): Float32Array {
  checkScales(min, max, numFrames, dtype);
  return inDtype(linspaceFloat32(min, max, numFrames), dtype);
}

/**
 * Guidance scales [numFrames] going from `min` at the first frame to `max` in the middle and back to `min` at the last,
 * for videos that loop. In float32, then rounded to the latents' type. Throws `attr`. Source: comfyanonymous/ComfyUI
 * comfy_extras/nodes_video_model.py `VideoTriangleCFGGuidance`.
 */
export function triangleGuidance(
  min: number,
  max: number,
  numFrames: number,
  dtype: LatentDtype = "float32",
): Float32Array {
  checkScales(min, max, numFrames, dtype);
  const scales = linspaceFloat32(0, 1, numFrames).map((position) => {
    const wave = round(2 * Math.abs(round(position - Math.floor(round(position + 0.5)))));
    return round(round(wave * round(max - min)) + round(min));
  });
  return inDtype(scales, dtype);
}

/** The guidance scales of a shape: {@link linearGuidance} or {@link triangleGuidance}. Throws `attr`. */
export function guidanceScales(
  shape: GuidanceShape,
  min: number,
  max: number,
  numFrames: number,
  dtype: LatentDtype = "float32",
): Float32Array {
  requireArgument("guidance shape", shape, SHAPE);
  return (shape === "linear" ? linearGuidance : triangleGuidance)(min, max, numFrames, dtype);
}
