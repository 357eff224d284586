import { layoutGraph } from "@vd/tensor";
import { expect, test } from "vitest";
import { openModelFolder } from "../../src/opening/folder";
import { makeModels } from "../../src/opening/models";
import { type StageShape, sampleStage, startStage } from "../../src/stages/definitions";
import { TINY_SVD } from "../support/tiny-model";

const models = makeModels(await openModelFolder(TINY_SVD));
const SHAPE: StageShape = { numFrames: 3, width: 32, height: 32, factor: 8, rows: 2, decodeChunk: undefined };
const opsOf = ({ graph }: ReturnType<typeof layoutGraph>) => graph.rows.map(({ op }) => op);

test("a step is the network and one row more, which leaves the next call's input", () => {
  const layout = layoutGraph(sampleStage(models, SHAPE, { numHistory: 2, drawsNoise: true }).build);
  const ops = opsOf(layout);
  expect(ops.at(-1)).toBe("sampler_step");
  expect(ops.filter((op) => op === "sampler_step")).toHaveLength(1);
  expect(ops).not.toContain("denoise_input");
  expect(ops).not.toContain("guide");
  const step = layout.graph.rows.at(-1)!;
  const input = layout.graph.states.get("input")!;
  expect(step.outputs.map((tensor) => tensor?.storage)).toContain(input.storage);
  expect(layout.graph.rows.flatMap(({ inputs }) => inputs).map((tensor) => tensor?.storage)).toContain(input.storage);
});

test("the first call's input has the sizes of the state that it fills, in the precision of the activations", () => {
  const needs = { numHistory: 0, drawsNoise: false };
  for (const dtype of ["f32", "f16"] as const) {
    const start = layoutGraph(startStage(models, { ...SHAPE, dtype }).build, { dtype });
    const { states } = layoutGraph(sampleStage(models, { ...SHAPE, dtype }, needs).build, { dtype }).graph;
    expect(opsOf(start)).toEqual(["layout_in", "denoise_input"]);
    for (const name of ["x", "input"]) {
      const { dims, dtype: type } = start.graph.outputs.get(name)!;
      expect([dims, type]).toEqual([states.get(name)!.dims, states.get(name)!.dtype]);
    }
  }
});
