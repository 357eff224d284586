// The process that generates: Node.js without a window. Gets { model, picture }, posts steps and then where the video is.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { devices, isVdError } from "@vd/kernels-native";
import { outputTarget, writeVideo } from "@vd/media";
import { StableVideoDiffusionPipeline } from "@vd/svd-pipeline";

process.parentPort.once("message", async ({ data: { model, picture } }) => {
  try {
    const pipeline = await StableVideoDiffusionPipeline.fromPretrained(model);
    const onProgress = ({ stage, step, steps }) => process.parentPort.postMessage({ stage, step, steps });
    const video = await pipeline.generate({ image: picture, numFrames: 4, steps: 2, seed: 42, onProgress });
    const path = join(tmpdir(), `video-${process.pid}.mp4`);
    const { fileBytes } = await writeVideo(outputTarget(path), video);
    process.parentPort.postMessage({ path, fileBytes, devices: devices() });
  } catch (error) {
    process.parentPort.postMessage({ error: isVdError(error) ? error.message : String(error) });
  }
});
