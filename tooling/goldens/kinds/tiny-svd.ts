import { openDevice } from "@vd/kernels-native";
import { makeModels, openModelFolder, StableVideoDiffusionPipeline } from "@vd/svd-pipeline";
import { CpuGenerator } from "@vd/tensor";
import { spatialFactor } from "@vd/vae-opt";
import { maxAbs } from "../compare";
import type { Fixture, GoldenContext, GoldenKind, TensorCheck } from "../kind";
import { modelFolder } from "../model-folder";
import { checkStages } from "../tiny-svd/stages";

/** Of the run's stored settings. */
export interface RunSettings {
  width: number;
  height: number;
  num_frames: number;
  num_inference_steps: number;
  min_guidance_scale: number;
  max_guidance_scale: number;
  fps: number;
  motion_bucket_id: number;
  noise_aug_strength: number;
  decode_chunk_size: number;
  seed: number;
}

/** 10 · log10(255² / mean squared difference). */
function psnr(ours: Uint8Array, golden: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < golden.length; i++) sum += (ours[i]! - golden[i]!) ** 2;
  return sum === 0 ? Number.POSITIVE_INFINITY : 10 * Math.log10((255 * 255 * golden.length) / sum);
}

/** The final frames may differ by one step of 255 in float32; half precision is judged by its PSNR. */
function framesCheck(ours: Uint8Array, golden: Float64Array, { dtype, device }: GoldenContext): TensorCheck {
  if (dtype === "float32" || device === "cpu") return maxAbs("frames.u8 of generate()", ours, golden, 1);
  const value = psnr(ours, golden);
  const least = dtype === "float16" ? 55 : 35;
  return { name: "frames.u8 of generate()", metric: "psnr_db", error: value, tolerance: least, ok: value >= least };
}

/** A whole run of the tiny model: every stage on the reference's own inputs, then a generation from the picture. */
export const tinySvdKind: GoldenKind = {
  kind: "tiny-svd",
  matches: (fixture) => "settings" in fixture.json && fixture.has("latents.steps") && fixture.has("frames.u8"),
  async *run(fixture: Fixture, context: GoldenContext): AsyncGenerator<TensorCheck> {
    const settings = fixture.json.settings as RunSettings;
    const dir = modelFolder(fixture);
    const random = new CpuGenerator(settings.seed);
    for (const name of ["noise.image", "noise.latents"]) {
      const golden = fixture.float64(name);
      yield maxAbs(name, random.randn(golden.length), golden, 4e-6);
    }
    const components = await openModelFolder(dir);
    const models = makeModels(components);
    const factor = spatialFactor(models.vae.config);
    yield* checkStages({ fixture, settings, components, models, factor, device: openDevice(context.device) });
    const pipeline = await StableVideoDiffusionPipeline.fromPretrained(dir, context);
    const [height, width] = fixture.shape("image_u8") as [number, number, number];
    const video = await pipeline.generate({
      image: { width, height, data: fixture.bytes("image_u8") },
      fit: "stretch",
      width: settings.width,
      height: settings.height,
      numFrames: settings.num_frames,
      steps: settings.num_inference_steps,
      minGuidance: settings.min_guidance_scale,
      maxGuidance: settings.max_guidance_scale,
      fps: settings.fps,
      motionBucketId: settings.motion_bucket_id,
      noiseAugStrength: settings.noise_aug_strength,
      seed: settings.seed,
      decodeChunk: settings.decode_chunk_size,
      isolateDecodeChunks: true,
    });
    yield framesCheck(video.data, fixture.float64("frames.u8"), context);
    pipeline.dispose();
  },
};
