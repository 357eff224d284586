import { OPS } from "@vd/kernels-native";
import { type Graph, layoutGraph } from "@vd/tensor";
import { chooseDecodePieces, describePieces, rewriteOf, tileStages } from "@vd/vae-opt";
import { describe, expect, it } from "vitest";
import { makeModels } from "../../src/opening/models";
import { decodeShape, decodeStage, type StageShape } from "../../src/stages/definitions";
import type { StageDefinition } from "../../src/stages/stage";
import { svdXt } from "../support/svd-xt";

const GIB = 2 ** 30;

describe("Stable Video Diffusion's autoencoder at full size, 25 frames in float16", () => {
  const { vae } = makeModels(svdXt());

  it.each([
    [1024, 576, 10, "9 frames at a time", 1.001],
    [1024, 576, 8, "6 frames at a time", 1.001],
    [1024, 576, 5.2, "2 frames at a time", 1.03],
    [1024, 576, 4, "in tiles: 11 blocks whole", 1.03],
    [1024, 576, 3, "in tiles: 11 blocks whole", 1.06],
    [1024, 576, 2, "in tiles: 8 blocks whole", 1.09],
    [2048, 1152, 24, "3 frames at a time", 1.03],
    [2048, 1152, 10, "in tiles: 11 blocks whole", 1.05],
    [2048, 1152, 4, "in tiles: 5 blocks whole", 1.08],
  ])("decodes %dx%d within %d GiB", async (width, height, gibibytes, how, mostWork) => {
    const clip: StageShape = { numFrames: 25, width, height, factor: 8, rows: 2, decodeChunk: undefined, dtype: "f16" };
    const shape = decodeShape(clip, 25);
    const over = (decodeChunk: number | undefined) => decodeStage({ vae }, { ...clip, decodeChunk });
    const looks = new Map<string, ReturnType<typeof lookAt>>();
    const lookAt = ({ build, dtype }: StageDefinition) => {
      const { memory, cost } = layoutGraph(build, dtype === undefined ? {} : { dtype });
      return { bytes: memory.peakBytes + memory.weightBytes, flops: cost.flops };
    };
    const look = (stage: StageDefinition) => {
      const { name, key = name } = stage;
      const known = looks.get(key) ?? lookAt(stage);
      looks.set(key, known);
      return known;
    };
    const budgetBytes = gibibytes * GIB;
    const { pieces, bytes, fits } = await chooseDecodePieces(vae, shape, {
      budgetBytes,
      bytesOf: async (stage) => look(stage).bytes,
    });
    expect(fits).toBe(true);
    expect(describePieces(pieces)).toContain(how);
    const { tiles, chunkFrames } = pieces;
    const stages = tiles ? tileStages(vae, shape, tiles) : [{ stage: over(chunkFrames), runs: 1, heldBytes: 0 }];
    const peak = Math.max(...stages.map(({ stage, heldBytes }) => look(stage).bytes + heldBytes));
    expect(peak).toBeLessThanOrEqual(bytes);
    expect(bytes).toBeLessThanOrEqual(budgetBytes);
    // Memory that there is is used.
    expect(bytes).toBeGreaterThan(0.93 * budgetBytes);
    const flops = stages.reduce((sum, { stage, runs }) => sum + runs * look(stage).flops, 0);
    expect(flops / look(over(undefined)).flops).toBeLessThan(mostWork);
  });

  it("finds the statistics of every norm as at once, however few frames it computes at a time", () => {
    /** By norm: whether convolutions left moments, which a GPU adds up in another order than it reads maps. */
    const statisticsWith = (decodeChunk: number | undefined) => {
      const clip = { numFrames: 25, width: 1024, height: 576, factor: 8, rows: 2, dtype: "f16" } as const;
      const { build } = decodeStage({ vae }, { ...clip, decodeChunk });
      const { rows } = layoutGraph(build, { dtype: "f16" }).graph;
      const norms = rows.filter(({ op }) => op === "group_norm" || op === "group_norm_stats");
      const found = norms.map(({ op, name, inputs }) => {
        const given = Object.keys(OPS[op].inputs).filter((input, i) => inputs[i] && /^(moments|stats)$/.test(input));
        return `${name} ${op} ${given.join()}`;
      });
      return [...new Set(found)].sort();
    };
    const whole = statisticsWith(undefined);
    expect(whole.filter((norm) => norm.endsWith("moments")).length).toBeGreaterThan(30);
    for (const decodeChunk of [1, 2, 7, 9]) expect(statisticsWith(decodeChunk)).toEqual(whole);
  });

  it("records each convolution as one op, with its norm or without, however few frames it computes at a time", () => {
    const convolutionsWith = (decodeChunk: number | undefined) => {
      const clip = { numFrames: 25, width: 1024, height: 576, factor: 8, rows: 2, dtype: "f16" } as const;
      const rewrite = rewriteOf({ fusedSilu: true, fusedUpsample: true, fusedNorm: true, winograd: false, fp8: false });
      const build = function* (g: Graph) {
        if (rewrite) g.rewriteCalls(rewrite);
        yield* decodeStage({ vae }, { ...clip, decodeChunk }).build(g);
      };
      const { rows } = layoutGraph(build, { dtype: "f16" }).graph;
      return [...new Set(rows.filter(({ op }) => /conv/.test(op)).map(({ op, name }) => `${name} ${op}`))].sort();
    };
    const whole = convolutionsWith(undefined);
    expect(whole.filter((row) => row.endsWith("temporal_res_block.conv2 group_norm_conv"))).toHaveLength(3);
    for (const decodeChunk of [1, 2, 4, 5, 9]) expect(convolutionsWith(decodeChunk)).toEqual(whole);
  });

  it.each([
    [1024, 576, "f32", 0.91],
    [1024, 576, "f16", 0.49],
    [2048, 1152, "f32", 3.47],
    [2048, 1152, "f16", 1.76],
  ] as const)("encodes a picture of %dx%d in %s", (width, height, dtype, gibibytes) => {
    const { memory } = layoutGraph(
      function* (g) {
        g.output("moments", yield* vae.encode.inPieces(g, g.input("pixels", [1, 1, height, width, 3])));
      },
      { dtype },
    );
    expect((memory.peakBytes + memory.weightBytes) / GIB).toBeCloseTo(gibibytes, 2);
  });
});
