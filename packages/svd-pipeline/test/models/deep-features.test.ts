import { openDevice } from "@vd/kernels-native";
import { layoutGraph, Plan, type Tensor } from "@vd/tensor";
import { afterAll, describe, expect, it } from "vitest";
import { type DeepFeatures, foldedCross } from "../../src/models/index";
import { openModelFolder } from "../../src/opening/folder";
import { makeModels } from "../../src/opening/models";
import { TINY_SVD } from "../support/tiny-model";

const device = openDevice("cpu", { threads: 2 });
const { unet } = makeModels(await openModelFolder(TINY_SVD));
const [FRAMES, SIZE] = [2, 8];
const plans: Plan[] = [];
afterAll(() => {
  for (const plan of plans) plan.freeSync();
});

const numbers = (count: number, seed: number) =>
  Float32Array.from({ length: count }, (_, i) => Math.sin(7.7 * (i + 1) * (seed + 1)));

/** One call of the UNet that computes its deep features, takes them from input `features`, or knows nothing of them. */
async function load(mode?: DeepFeatures["mode"]): Promise<Plan> {
  const layout = layoutGraph(function* (g) {
    const dims = [1, FRAMES, SIZE, SIZE, unet.deepChannels];
    const features: Tensor | undefined =
      mode && (mode === "reuse" ? g.input("features", dims) : g.state("features", dims));
    const cross = foldedCross(g.input("cross", [1, 1, 1, unet.crossWidth]));
    const frames = g.input("frames", [1, FRAMES, 1, unet.framesWidth]);
    const prediction = yield* unet.forward.inPieces(g, {
      sample: g.input("sample", [1, FRAMES, SIZE, SIZE, 8]),
      timestep: g.input("timestep", [1, 1]),
      addedTimeIds: g.input("ids", [1, 3]),
      conditioning: { cross, frames },
      ...(features && { deep: { mode: mode!, features } }),
    });
    g.output("prediction", prediction);
  });
  const plan = await Plan.load(device, layout);
  plans.push(plan);
  await plan.write("cross", numbers(unet.crossWidth, 1));
  await plan.write("frames", numbers(FRAMES * unet.framesWidth, 2));
  await plan.write("ids", [6, 127, 0.02]);
  return plan;
}

async function predict(plan: Plan, sample: number, timestep: number): Promise<Float32Array> {
  await plan.write("sample", numbers(FRAMES * SIZE * SIZE * 8, sample));
  await plan.write("timestep", [timestep]);
  await plan.run();
  return plan.read("prediction");
}

describe("deep features", () => {
  it("of the same call give the same bits, those of another one others; computing them changes nothing", async () => {
    const [plain, compute, reuse] = [await load(), await load("compute"), await load("reuse")];
    const wanted = await predict(plain, 3, 0.4);
    expect(await predict(compute, 3, 0.4)).toEqual(wanted);
    await reuse.write("features", await compute.read("features"));
    expect(await predict(reuse, 3, 0.4)).toEqual(wanted);
    await predict(compute, 4, 1);
    await reuse.write("features", await compute.read("features"));
    expect(await predict(reuse, 3, 0.4)).not.toEqual(wanted);
  });

  it("save the inner blocks' rows", async () => {
    const [compute, reuse] = [await load("compute"), await load("reuse")];
    expect(reuse.cost.flops).toBeLessThan(0.75 * compute.cost.flops);
    expect(reuse.layout.graph.rows.some(({ name }) => name.startsWith("mid_block"))).toBe(false);
  });
});
