import type { Device } from "@vd/kernels-native";
import { compile, layoutGraph, Plan, runInSlices } from "@vd/tensor";
import type { Denoiser, DenoiserFactory, DenoiserRequest } from "../../denoising/denoiser";
import { predictByPlan } from "../../denoising/host-stepper";
import { type StepConstants, writeStepConstants } from "../../denoising/step-constants";
import { conditionStage, denoiseStage } from "../../stages/definitions";
import { LayerRecord } from "./layer-record";
import { type ObservedLayer, observedUnet } from "./observe-layers";

/** Computes what all calls share. */
async function constantsOf(device: Device, request: DenoiserRequest): Promise<StepConstants> {
  const { models, shape, embedding, image, timeIds, guidance, signal } = request;
  const context = new Float32Array(shape.rows * embedding.length); // The unconditional row stays zero.
  context.set(embedding, (shape.rows - 1) * embedding.length);
  const { dtype = "f32", build } = conditionStage(models, shape);
  const plan = await compile(device, build, { dtype });
  try {
    await plan.write("context", context);
    await plan.run({ signal });
    return { image, timeIds, guidance, cross: await plan.read("cross"), frames: await plan.read("frames") };
  } finally {
    await plan.free();
  }
}

/**
 * Makes a denoiser of own kernels that keeps what the UNet's layers take, in `records` by the layers' names. Between pictures the records
 * stay.
 */
export function observingDenoiser(device: Device, records: Map<string, LayerRecord>): DenoiserFactory {
  return {
    name: "calibration",
    prepare: async () => undefined,
    async open(request): Promise<Denoiser> {
      const { models, shape, signal } = request;
      const found = new Map<string, ObservedLayer>();
      const { dtype = "f32", build } = denoiseStage({ ...models, unet: observedUnet(models.unet, found) }, shape);
      const layout = await runInSlices(layoutGraph.inPieces(build, { dtype }), { signal, where: "calibrate" });
      for (const [name, layer] of found) if (!records.has(name)) records.set(name, new LayerRecord(layer));
      const constants = await constantsOf(device, request);
      const plan = await Plan.load(device, layout, { batchInvariant: true });
      await writeStepConstants(plan, constants);
      const predict = predictByPlan(plan);
      return {
        async predict(call) {
          const prediction = await predict(call);
          for (const record of records.values()) await record.add(plan);
          return prediction;
        },
        close: () => plan.free(),
      };
    },
  };
}
