import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { VdError } from "@vd/kernels-native";
import { relativeL2 } from "../stats/summary";
import { type Contender, peerName } from "./contenders";
import { WARM_UP_STEPS } from "./e2e";
import type { MeasureOptions } from "./options";
import type { OurPart, PlanPart } from "./our-parts";

/** How the export calls our parts. */
const EXPORTS = { clip: "clip", encode: "vae-encoder", unet: "unet", vae: "vae-decoder" } as const satisfies Record<
  PlanPart,
  string
>;
const GUIDANCE_ROWS = 2;

/**
 * Exports parts of the model, or all, and opens them in ONNX Runtime.
 *
 * @throws VdError `unsupported` on a GPU or without the runtime
 */
async function openModels(options: MeasureOptions, workDir: string, parts?: (typeof EXPORTS)[PlanPart][]) {
  const { device, model: modelDir, numFrames: frames, width, height, threads } = options;
  if (device !== "cpu")
    throw new VdError({
      ...{ code: "unsupported", where: "onnxruntime", expected: "the CPU", got: "measured on the CPU only" },
    });
  // It registers denoisers when it is loaded, which other commands need not.
  await mkdir(workDir);
  const { OnnxModels } = await import("@vd/tensorrt");
  return OnnxModels.open({ modelDir, workDir, parts, batch: GUIDANCE_ROWS, frames, width, height, threads });
}

type Models = Awaited<ReturnType<typeof openModels>>;

/** Calls a part on our inputs. */
function callPart(models: Models, { part, inputs }: OurPart): Promise<Float32Array> {
  const numbers = (name: string) => ({ data: inputs[name]!.data, dims: inputs[name]!.shape });
  if (part === "clip") return models.embed(numbers("pixels"));
  if (part === "encode") return models.encode(numbers("image"));
  if (part === "unet")
    return models.unet({
      sample: numbers("sample"),
      timestep: numbers("timestep"),
      encoder_hidden_states: numbers("context"),
      added_time_ids: numbers("added_time_ids"),
    });
  const { data, shape } = inputs.latents!;
  const factor = Math.fround(1 / models.vaeConfig.scalingFactor);
  return models.decode({ data: data.map((value) => value * factor), dims: [1, ...shape] });
}

function contender(
  models: Models,
  workDir: string,
  facts: Contender["facts"],
  once: () => Promise<unknown>,
): Contender {
  return {
    name: peerName("onnxruntime"),
    facts,
    async run(repeats) {
      const times: number[] = [];
      for (let i = 0; i < repeats; i++) {
        const start = performance.now();
        await once();
        times.push((performance.now() - start) * 1000);
      }
      return times;
    },
    async close() {
      await models.close();
      await rm(workDir, { recursive: true, force: true });
    },
  };
}

/** Time since `startMs` in µs. */
const sinceUs = (startMs: number) => (performance.now() - startMs) * 1000;

/** A part in ONNX Runtime on the same inputs. reference: what its result is compared with. */
export async function onnxContender(
  options: MeasureOptions,
  ours: OurPart,
  work: string,
  reference: Float32Array | undefined,
): Promise<Contender> {
  const workDir = join(work, `onnx-${ours.part}`);
  const startMs = performance.now();
  const models = await openModels(options, workDir, [EXPORTS[ours.part]]);
  const loadUs = sinceUs(startMs);
  const firstMs = performance.now();
  const output = await callPart(models, ours);
  const error = reference ? { error: relativeL2(output, reference) } : {};
  return contender(models, workDir, { loadUs, firstUs: sinceUs(firstMs), ...error }, () => callPart(models, ours));
}

/** A whole generation in ONNX Runtime, from the picture's file to frames. ours: frames of a short run of ours. */
export async function onnxGeneration(
  options: MeasureOptions,
  image: string,
  work: string,
  ours: Uint8Array | undefined,
): Promise<Contender> {
  const workDir = join(work, "onnx-e2e");
  const startMs = performance.now();
  const models = await openModels(options, workDir);
  const loadUs = sinceUs(startMs);
  const { wholeRun } = await import("@vd/tensorrt");
  const motion = { fps: 7, motionBucketId: 127, noiseAugStrength: 0.02, minGuidance: 1, maxGuidance: 3 };
  const generate = (steps: number) => wholeRun(models, { image, steps, seed: options.seed, ...motion });
  const firstMs = performance.now();
  const { data } = await generate(WARM_UP_STEPS);
  const facts = { loadUs, firstUs: sinceUs(firstMs), ...(ours ? { error: relativeL2(data, ours) } : {}) };
  return contender(models, workDir, facts, () => generate(options.steps));
}
