import { VdError } from "@vd/kernels-native";
import type { EndlessOptions } from "@vd/svd-pipeline";
import { numbersOfLevels } from "../model/picture-levels";
import type { OpenedModel } from "../session/create";
import type { LivePicture, LiveSessionOptions } from "../session/types";
import { ClipEngine } from "./clip-engine";
import type { ClipModel } from "./clip-model";
import { sessionPicture } from "./pictures";

type Size = { width: number; height: number };

/** The options of a session as those of its video. */
async function videoOptions(options: LiveSessionOptions, { info }: ClipModel, size: Size): Promise<EndlessOptions> {
  const { picture, motion, seed, steps, guidanceScale, clips = {} } = options;
  if (picture === undefined) {
    const hint = "A file, or pixels: the picture begins to move.";
    throw new VdError({ code: "attr", where: "session] [picture", expected: "a picture", got: "none", hint });
  }
  const { frames, overlap, holdColours } = clips;
  const noGuidance = guidanceScale !== undefined && guidanceScale < 1;
  return {
    ...{ image: await sessionPicture(picture, size), ...size, seed: seed ?? 0, steps, motionBucketId: motion },
    ...{ clipFrames: frames, overlap, holdColours, maxGuidance: guidanceScale },
    ...(noGuidance && { minGuidance: guidanceScale }),
    // Models are told whole numbers.
    fps: Math.max(1, Math.round(options.fps ?? info.fps)),
  };
}

/** What a session needs of a model of clips. */
export function openedClips(options: LiveSessionOptions, model: ClipModel): OpenedModel {
  const { info, pipeline, isOwned } = model;
  const dispose = () => {
    if (isOwned) pipeline.dispose();
  };
  return {
    info,
    dispose,
    async startContext({ width, height }, start) {
      const picture: string | LivePicture | undefined = typeof start === "string" ? start : start?.at(-1);
      // The session's own picture is that of its video.
      const source = picture || options.picture;
      if (start === undefined || source === undefined) return new Float32Array();
      const { data } = await sessionPicture(source, { width, height });
      return numbersOfLevels(data as Uint8Array, new Float32Array(data.length));
    },
    async openEngine(size) {
      const video = await pipeline.endless(await videoOptions(options, model, size));
      const { minGuidance } = pipeline.defaults;
      const measures = (options.drift?.everyFrames ?? 0) > 0;
      return ClipEngine.open({ video, minGuidance, measures, onFreed: dispose });
    },
  };
}
