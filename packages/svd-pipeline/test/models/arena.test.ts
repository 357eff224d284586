import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ARENA_ALIGNMENT_BYTES } from "@vd/kernels-native";
import { arenaLifetimes, type Graph, layoutGraph, Weights } from "@vd/tensor";
import { parseVaeConfig, temporalVae } from "@vd/vae-opt";
import { expect, test } from "vitest";
import { foldedCross, parseUnetConfig, unet } from "../../src/models/unet/index";

const folder = fileURLToPath(new URL("../../../../models/tiny-svd/", import.meta.url));
const configOf = (part: string) => JSON.parse(readFileSync(`${folder}${part}/config.json`, "utf8"));

/** The most bytes that are alive at once: no arena can be smaller. */
function lowerBound(graph: Graph): number {
  const lives = arenaLifetimes(graph);
  const align = (bytes: number) => Math.ceil(bytes / ARENA_ALIGNMENT_BYTES) * ARENA_ALIGNMENT_BYTES;
  const aliveAt = (row: number) => lives.filter(({ first, last }) => first <= row && row <= last);
  return Math.max(
    ...graph.rows.map((_, row) => aliveAt(row).reduce((sum, { storage }) => sum + align(storage.bytes), 0)),
  );
}

function buildUnet(size: number, frames: number) {
  const model = unet(Weights.open(`${folder}unet`), parseUnetConfig(configOf("unet")));
  return (g: Graph) => {
    const frameVectors = g.empty([1, frames, 1, model.framesWidth]);
    model.conditionFrames(g, frameVectors);
    const y = model.forward(g, {
      sample: g.input("sample", [2, frames, size, size, 8]),
      timestep: g.input("timestep", [1, 1]),
      addedTimeIds: g.input("ids", [2, 3]),
      conditioning: { cross: foldedCross(g.input("cross", [2, 1, 1, model.crossWidth])), frames: frameVectors },
    });
    g.output("y", y);
  };
}

function buildDecoder(size: number, frames: number, chunkFrames: number) {
  const model = temporalVae(Weights.open(`${folder}vae`), parseVaeConfig(configOf("vae")));
  return (g: Graph) => g.output("y", model.decode(g, g.input("z", [1, frames, size, size, 4]), { chunkFrames }));
}

test.each([
  ["UNet, 14 frames of 16x16", buildUnet(16, 14)],
  ["UNet, 25 frames of 96x96", buildUnet(96, 25)],
  ["decoder, 14 frames of 16x16", buildDecoder(16, 14, 14)],
  ["decoder, 14 frames in parts of 4", buildDecoder(16, 14, 4)],
])("the arena of the %s is at most 5 %% above what is alive at once", (_, build) => {
  const { graph, memory } = layoutGraph(build);
  const bound = lowerBound(graph);
  expect(memory.arenaBytes).toBeGreaterThanOrEqual(bound);
  expect(memory.arenaBytes / bound).toBeLessThanOrEqual(1.05);
});
