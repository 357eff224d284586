import { type DType, VdError } from "@vd/kernels-native";
import type { RgbImage } from "@vd/media";
import { decodeStored } from "@vd/tensor";
import type { CallCounts } from "../denoising/call-planner";
import type { GeneratedVideo } from "../types";
import { videoFiles } from "./video-files";

/** Decoded frames. */
export interface DecodedFrames {
  /** [F,H,W,3] in 8 bits. */
  data: Uint8Array;
  /** [F,H,W,3] in about [-1,1], as the device stored them. */
  raw: { dtype: DType; bytes: Uint8Array };
}

/** What a {@link GeneratedVideo} is made of. */
export interface VideoParts {
  width: number;
  height: number;
  numFrames: number;
  fps: number;
  seed: bigint;
  seams?: readonly number[];
  timings: Record<string, number>;
  peakBytes: number;
  denoiserCalls: CallCounts;
  /** Decoded frames, or the latents [F,C,h,w] alone. */
  result: DecodedFrames | Float32Array;
}

/** [F,H,W,3] in about [-1,1] → [F,3,H,W] in [0,1]. */
function toUnitPlanes({ numFrames, width, height }: VideoParts, raw: DecodedFrames["raw"]): Float32Array {
  const area = width * height;
  const values = decodeStored(raw.bytes, raw.dtype);
  const planes = new Float32Array(values.length);
  for (let frame = 0; frame < numFrames; frame++)
    for (let pixel = 0; pixel < area; pixel++)
      for (let c = 0; c < 3; c++) {
        const value = values[(frame * area + pixel) * 3 + c]! / 2 + 0.5;
        planes[(frame * 3 + c) * area + pixel] = Math.min(Math.max(value, 0), 1);
      }
  return planes;
}

function refuseFrames(where: string): never {
  const hint = 'Leave outputType out, or set it to "video".';
  throw new VdError({ code: "unsupported", where, expected: "decoded frames", got: "latents alone", hint });
}

/** Makes the video object that generate returns. */
export function makeVideo(parts: VideoParts): GeneratedVideo {
  const { width, height, numFrames, fps, seed, seams = [], timings, peakBytes, denoiserCalls, result } = parts;
  const latents = result instanceof Float32Array ? result : undefined;
  const decoded = (where: string): DecodedFrames => (result instanceof Float32Array ? refuseFrames(where) : result);
  const data = latents ? new Uint8Array() : decoded("data").data;
  const frameBytes = width * height * 3;
  const frame = (i: number) => decoded("frame").data.subarray(i * frameBytes, (i + 1) * frameBytes);
  const video: GeneratedVideo = {
    ...{ width, height, numFrames, fps, seed, seams, data, timings, peakBytes, denoiserCalls },
    ...videoFiles(() => video),
    ...(latents && { latents }),
    floats: () => toUnitPlanes(parts, decoded("floats").raw),
    frame(i) {
      if (!Number.isInteger(i) || i < 0 || i >= numFrames)
        throw new VdError({
          code: "attr",
          where: "frame",
          expected: `a whole number from 0 to ${numFrames - 1}`,
          got: String(i),
        });
      return frame(i);
    },
    *[Symbol.iterator](): Iterator<RgbImage> {
      for (let i = 0; i < numFrames; i++) yield { width, height, data: frame(i) };
    },
  };
  return video;
}
