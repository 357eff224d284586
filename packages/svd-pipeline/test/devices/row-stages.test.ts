import { openDevice } from "@vd/kernels-native";
import { CpuGenerator, DeviceTeam, layoutGraph, Plan } from "@vd/tensor";
import { expect, it } from "vitest";
import { predictByPlan } from "../../src/denoising/host-stepper";
import { writeStepConstants } from "../../src/denoising/step-constants";
import { bothRowsStage, rowStage } from "../../src/devices/row-stages";
import { SplitDenoiser } from "../../src/devices/split-denoiser";
import { openModelFolder } from "../../src/index";
import { makeModels } from "../../src/opening/models";
import { denoiseStage, type StageShape } from "../../src/stages/definitions";
import type { StageDefinition } from "../../src/stages/stage";
import { TINY_SVD } from "../support/tiny-model";

const SHAPE: StageShape = { numFrames: 2, width: 32, height: 32, factor: 8, rows: 2, decodeChunk: undefined };

it("samplers that step on the host get the bits of one device's prediction", async () => {
  const models = makeModels(await openModelFolder(TINY_SVD));
  const [first, second] = [0, 1].map(() => openDevice("cpu", { threads: 1 })) as [
    ReturnType<typeof openDevice>,
    ReturnType<typeof openDevice>,
  ];
  const load = (device: typeof first, { build, dtype }: StageDefinition) =>
    Plan.load(device, layoutGraph(build, { dtype: dtype ?? "f32" }));
  const whole = await load(first, denoiseStage(models, SHAPE));
  const [row, both] = [rowStage(models, SHAPE, undefined), bothRowsStage(models, SHAPE, undefined)];
  const plans = [
    { row: await load(first, row), both: await load(first, both) },
    { row: await load(second, row), both: undefined },
  ];
  const split = new SplitDenoiser(
    new DeviceTeam([
      { device: first, label: "a" },
      { device: second, label: "b" },
    ]),
    plans,
  );
  const { inputs } = whole.layout.graph;
  const random = (name: string, seed: number) =>
    new CpuGenerator(seed).randn(inputs.get(name)!.dims.reduce((a, b) => a * b));
  const constants = {
    ...{ image: random("image", 1), cross: random("cross", 2), frames: random("frames", 3) },
    timeIds: [6, 127, 0.02] as const,
    guidance: Float32Array.of(1.5, 3),
  };
  const call = { latents: random("latents", 4), inputScale: 0.7, timestep: 0.4 };
  const predictions: Float32Array[] = [];
  for (const plan of [whole, split]) {
    await writeStepConstants(plan, constants);
    predictions.push(await predictByPlan(plan)(call));
  }
  expect(predictions[0]!.some((value) => value !== 0)).toBe(true);
  expect(predictions[1]).toEqual(predictions[0]);
  // What one row does not need is not computed.
  expect(plans[0]!.both!.layout.graph.rows.length).toBe(2);
  for (const plan of [whole, plans[0]!.row, plans[0]!.both!, plans[1]!.row]) await plan.free();
});
