import { type GraphLayout, layoutGraph, normedConvolutions } from "@vd/tensor";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DecodeOptions, parseVaeConfig, spatialFactor, temporalVae, type VaeConfig } from "../../src/index";
import { randomWeights } from "../support/random-weights";
import { noise, runModule } from "../support/run-module";

/** Small autoencoders of every depth, with channels that change from level to level. */
const configs: fc.Arbitrary<VaeConfig> = fc
  .record({
    levels: fc.array(fc.record({ channels: fc.constantFrom(32, 64), attends: fc.boolean() }), {
      minLength: 2,
      maxLength: 4,
    }),
    layers_per_block: fc.integer({ min: 1, max: 3 }),
    latent_channels: fc.constantFrom(1, 4, 6),
    in_channels: fc.constantFrom(3, 1),
    out_channels: fc.constantFrom(3, 5),
  })
  .map(({ levels, ...rest }) =>
    parseVaeConfig({
      block_out_channels: levels.map(({ channels }) => channels),
      down_block_types: levels.map(({ attends }) => (attends ? "AttnDownEncoderBlock2D" : "DownEncoderBlock2D")),
      ...rest,
    }),
  );

const sizes = fc.record({
  batch: fc.constantFrom(1, 1, 2),
  frames: fc.integer({ min: 1, max: 7 }),
  height: fc.integer({ min: 1, max: 4 }),
  width: fc.integer({ min: 1, max: 5 }),
});

const product = (dims: readonly number[]) => dims.reduce((all, dim) => all * dim, 1);

/** ‖a − b‖ / ‖b‖. */
function relativeDistance(a: Float32Array, b: Float32Array): number {
  let [distance, size] = [0, 0];
  for (let i = 0; i < b.length; i++) {
    distance += (a[i]! - b[i]!) ** 2;
    size += b[i]! ** 2;
  }
  return a.length === b.length ? Math.sqrt(distance / size) : Number.POSITIVE_INFINITY;
}

describe("any small autoencoder", () => {
  it("decodes latents of any size to frames of that size times its factor", async () => {
    const property = fc.asyncProperty(configs, sizes, async (config, { batch, frames, height, width }) => {
      const { decode } = temporalVae(randomWeights().weights, config);
      const dims = [batch, frames, height, width, config.latentChannels];
      const y = await runModule((g, z) => decode(g, z), dims, noise(product(dims)));
      const factor = spatialFactor(config);
      expect(y.dims).toEqual([batch, frames, height * factor, width * factor, config.outChannels]);
      expect(y.values.every(Number.isFinite)).toBe(true);
    });
    await fc.assert(property, { seed: 20240611, numRuns: 12 });
  });

  it("encodes pictures to means and log-variances of its factor's size", async () => {
    const property = fc.asyncProperty(configs, sizes, async (config, { batch, height, width }) => {
      const { encode } = temporalVae(randomWeights().weights, config);
      const factor = spatialFactor(config);
      const dims = [batch, 1, height * factor, width * factor, config.inChannels];
      const y = await runModule((g, x) => encode(g, x), dims, noise(product(dims)));
      expect(y.dims).toEqual([batch, 1, height, width, 2 * config.latentChannels]);
      expect(y.values.every(Number.isFinite)).toBe(true);
    });
    await fc.assert(property, { seed: 20240611, numRuns: 12 });
  });

  it("decodes in chunks to what it decodes at once", async () => {
    const chunks = fc.integer({ min: 1, max: 7 });
    const property = fc.asyncProperty(
      configs,
      sizes,
      chunks,
      async (config, { frames, height, width }, chunkFrames) => {
        const { decode } = temporalVae(randomWeights().weights, config);
        const dims = [1, frames, height, width, config.latentChannels];
        const z = noise(product(dims));
        const plain = await runModule((g, x) => decode(g, x), dims, z);
        const whole = await runModule((g, x) => decode(g, x, { chunkFrames: frames }), dims, z);
        const parts = await runModule((g, x) => decode(g, x, { chunkFrames }), dims, z);
        expect(parts.dims).toEqual(whole.dims);
        // In maps of one pixel the norms divide by nothing but the rounding of sums, which they enlarge up to a thousand times.
        expect(relativeDistance(whole.values, plain.values)).toBeLessThan(1e-3);
        expect(parts.values).toEqual(whole.values);
      },
    );
    await fc.assert(property, { seed: 20240611, numRuns: 16 });
  });
});

describe("decoding", () => {
  const config = parseVaeConfig({ block_out_channels: [32, 64], layers_per_block: 2, down_block_types: undefined });
  const { decode } = temporalVae(randomWeights().weights, config);
  const dims = [1, 8, 6, 6, 4];
  const z = noise(product(dims));

  it("in smaller chunks takes less memory", async () => {
    const peaks = await Promise.all(
      [8, 4, 1].map(
        async (chunkFrames) => (await runModule((g, x) => decode(g, x, { chunkFrames }), dims, z)).peakBytes,
      ),
    );
    expect(peaks[1]).toBeLessThan(peaks[0]!);
    expect(peaks[2]).toBeLessThan(peaks[1]!);
  });

  it("in parts that a cache holds records single frames where those are large", () => {
    const rowsOf = (spatialBytes?: number) => {
      const layout = layoutGraph((g) => {
        g.output("y", decode(g, g.input("z", dims), { chunkFrames: 8, spatialBytes }));
      });
      const named = (part: string) => layout.graph.rows.filter(({ name }) => name.endsWith(part)).length;
      return { spatial: named("spatial_res_block.conv1"), temporal: named("temporal_res_block.conv1") };
    };
    const { spatial, temporal } = rowsOf();
    expect(rowsOf(1)).toEqual({ spatial: 8 * spatial, temporal });
  });

  it("with norms inside convolutions computes more frames over time at once, in no more memory", () => {
    const wide = parseVaeConfig({ block_out_channels: [128, 128], layers_per_block: 1, down_block_types: undefined });
    const vae = temporalVae(randomWeights().weights, wide);
    const layoutOf = (fusedNorm: boolean) =>
      layoutGraph(
        (g) => {
          g.rewriteCalls(normedConvolutions());
          g.output("y", vae.decode(g, g.input("z", [1, 14, 64, 128, 4]), { chunkFrames: 4, fusedNorm }));
        },
        { dtype: "f16" },
      );
    const overTime = ({ graph }: GraphLayout) =>
      graph.rows.filter(({ op, name }) => op === "group_norm_conv" && name.endsWith("temporal_res_block.conv2")).length;
    const [apart, inside] = [layoutOf(false), layoutOf(true)];
    expect(overTime(inside)).toBeLessThan(overTime(apart));
    expect(inside.memory.peakBytes).toBeLessThanOrEqual(apart.memory.peakBytes);
  });

  it.each([
    ["maps that grow", [32, 64, 64, 64], 2],
    ["a map that shrinks", [32, 256], 1],
  ])("gives the same bits with any number of frames at a time: %s", async (_, channels, layers) => {
    const vae = temporalVae(
      randomWeights().weights,
      parseVaeConfig({ block_out_channels: channels, layers_per_block: layers, down_block_types: undefined }),
    );
    for (const numFrames of [1, 2, 3, 5, 9, 14]) {
      const latents = noise(numFrames * 2 * 3 * 4);
      const inParts = (chunkFrames: number, more: DecodeOptions = {}) =>
        runModule((g, x) => vae.decode(g, x, { chunkFrames, ...more }), [1, numFrames, 2, 3, 4], latents);
      const whole = await inParts(numFrames);
      for (const spatialBytes of [1, 1 << 16])
        expect(relativeDistance((await inParts(numFrames, { spatialBytes })).values, whole.values), "cached").toBe(0);
      for (let chunkFrames = 1; chunkFrames < numFrames; chunkFrames++)
        expect(relativeDistance((await inParts(chunkFrames)).values, whole.values), `${chunkFrames}`).toBe(0);
    }
  });

  it("lets a frame see its neighbours, and they theirs", async () => {
    const moved = z.slice();
    const frameLength = z.length / 8;
    for (let i = 0; i < frameLength; i++) moved[i] = -moved[i]!;
    const [before, after] = await Promise.all(
      [z, moved].map((values) => runModule((g, x) => decode(g, x), dims, values)),
    );
    const changeOf = (frame: number) => {
      const part = (values: Float32Array) =>
        values.subarray((frame * values.length) / 8, ((frame + 1) * values.length) / 8);
      return relativeDistance(part(after!.values), part(before!.values));
    };
    expect(changeOf(0)).toBeGreaterThan(0.1);
    expect(changeOf(1)).toBeGreaterThan(1e-3);
    expect(changeOf(7)).toBeLessThan(changeOf(0));
  });

  it("treats the clips of a batch on their own, in chunks or not", async () => {
    const one = await runModule((g, x) => decode(g, x), dims, z);
    const twice = Float32Array.from([...z, ...z]);
    const both = await runModule((g, x) => decode(g, x, { chunkFrames: 2 }), [2, ...dims.slice(1)], twice);
    const half = one.values.length;
    expect(relativeDistance(both.values.subarray(0, half), one.values)).toBeLessThan(1e-6);
    expect(both.values.slice(0, half)).toEqual(both.values.slice(half));
  });
});

describe("the weights that a configuration asks for", () => {
  it("follow the layers: an encoder of as many per block, a decoder of one more", () => {
    for (const layers of [1, 2, 3]) {
      const { weights, asked } = randomWeights();
      temporalVae(
        weights,
        parseVaeConfig({ block_out_channels: [32, 64], layers_per_block: layers, down_block_types: undefined }),
      );
      const count = (pattern: RegExp) => [...asked].filter((name) => pattern.test(name)).length;
      expect(count(/^encoder\.down_blocks\.\d\.resnets\.\d\.conv1\.weight$/)).toBe(2 * layers);
      expect(count(/^decoder\.up_blocks\.\d\.resnets\.\d\.spatial_res_block\.conv1\.weight$/)).toBe(2 * (layers + 1));
      expect(count(/^decoder\.mid_block\.resnets\.\d\.spatial_res_block\.conv1\.weight$/)).toBe(layers);
      expect(count(/^encoder\.down_blocks\.0\.downsamplers\.0\.conv\.weight$/)).toBe(1);
      expect(count(/^encoder\.down_blocks\.1\.downsamplers/)).toBe(0);
    }
  });
});
