import { join } from "node:path";
import { openDevice } from "@vd/kernels-native";
import { layoutGraph, Plan, writeSafetensors } from "@vd/tensor";
import { afterAll, describe, expect, it } from "vitest";
import { foldedCross } from "../../src/models/index";
import { openModelFolder } from "../../src/opening/folder";
import { makeModels } from "../../src/opening/models";
import { tensorsOf } from "../support/rewrite-weights";
import { copyOfTiny, WEIGHT_FILES } from "../support/tiny-model";

const device = openDevice("cpu", { threads: 2 });
const [FRAMES, SIZE] = [3, 8];
const plans: Plan[] = [];
afterAll(() => {
  for (const plan of plans) plan.freeSync();
});

const numbers = (count: number, seed: number) =>
  Float32Array.from({ length: count }, (_, i) => Math.sin(7.7 * (i + 1) * (seed + 1)));

/** The tiny model's UNet with another share of its spatial transformer blocks: α = sigmoid(mix). */
async function unetMixing(mix: number) {
  const model = copyOfTiny();
  const tensors = tensorsOf(model, "unet", "F32").map((tensor) =>
    tensor.name.endsWith("time_mixer.mix_factor") && tensor.name.includes("attentions")
      ? { ...tensor, data: Float32Array.of(mix) }
      : tensor,
  );
  writeSafetensors(join(model, WEIGHT_FILES.unet), tensors);
  return makeModels(await openModelFolder(model)).unet;
}

/** One call, and how many rows add frame positions by themselves. */
async function predict(mix: number): Promise<{ prediction: Float32Array; placing: number }> {
  const unet = await unetMixing(mix);
  let placing = 0;
  const layout = layoutGraph(function* (g) {
    const frames = g.empty([1, FRAMES, 1, unet.framesWidth]);
    yield* unet.conditionFrames.inPieces(g, frames);
    const prediction = yield* unet.forward.inPieces(g, {
      sample: g.input("sample", [1, FRAMES, SIZE, SIZE, 8]),
      timestep: g.input("timestep", [1, 1]),
      addedTimeIds: g.input("ids", [1, 3]),
      conditioning: { cross: foldedCross(g.input("cross", [1, 1, 1, unet.crossWidth])), frames },
    });
    g.output("prediction", prediction);
    placing = g.rows.filter(({ name }) => name.endsWith("add_position")).length;
  });
  const plan = await Plan.load(device, layout);
  plans.push(plan);
  await plan.write("cross", numbers(unet.crossWidth, 1));
  await plan.write("ids", [6, 127, 0.02]);
  await plan.write("sample", numbers(FRAMES * SIZE * SIZE * 8, 3));
  await plan.write("timestep", [0.4]);
  await plan.run();
  return { prediction: await plan.read("prediction"), placing };
}

const distance = (a: Float32Array, b: Float32Array) =>
  Math.hypot(...a.map((value, i) => value - b[i]!)) / Math.hypot(...b);

describe("frame positions", () => {
  it("are left out of the blend again, whichever share the spatial block has", async () => {
    // On both sides of the share from which on positions are added by a row of their own: α differs by 4e-5.
    const [below, above] = [await predict(5.536), await predict(5.546)];
    expect([below.placing, above.placing > 0]).toEqual([0, true]);
    expect(distance(below.prediction, above.prediction)).toBeLessThan(1e-3);
  });
});
