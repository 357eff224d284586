import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isVdError } from "@vd/kernels-native";
import { afterAll, describe, expect, it } from "vitest";
import { CausalVideoAutoencoder, type Clip, parseCausalVaeConfig } from "../../src/index";
import { randomWeights } from "../support/random-weights";
import { collect, cut, noiseClip, openSmall, SMALL } from "./support";

const vae = await openSmall();
afterAll(() => vae.close());

/** Code and message of what a promise rejects with. */
async function failure(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (isVdError(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error("expected a VdError");
}

const latents = noiseClip([2, 2, 2, 4]);
const withDims = (...dims: number[]) => ({ ...latents, dims }) as unknown as Clip;

describe("input that cannot be", () => {
  it("is refused by its shape", async () => {
    for (const bad of [
      withDims(2, 2, 2),
      withDims(2, 2, 2, 4, 1),
      withDims(2, 2, 2, 3),
      withDims(3, 2, 2, 4),
      withDims(0, 2, 2, 4),
      withDims(2.5, 2, 2, 4),
      withDims(2, 2 ** 20, 2, 4),
      { values: latents.values } as unknown as Clip,
    ])
      expect(await failure(vae.decode(bad))).toMatch(/^(shape|attr): \[decode\] \[latents\] expected /);
    expect(await failure(vae.encode(noiseClip([1, 20, 16, 3])))).toMatch(/^shape: .*multiples of 8.* got 20 × 16/);
    expect(await failure(collect(vae.decodeStream([latents, noiseClip([1, 3, 2, 4])])))).toMatch(
      /^shape: .*2 × 2 as in the first piece, got 3 × 2/,
    );
    expect(await failure(collect(vae.decodeStream([])))).toMatch(/^shape: .*one or more, got none/);
  });

  it("is refused by its type", async () => {
    for (const values of [new Float64Array(32), new Uint16Array(32), Array(32).fill(0), undefined])
      expect(await failure(vae.decode({ ...latents, values } as unknown as Clip))).toMatch(/^dtype: .*Float32Array/);
    for (const source of [undefined, null, 5, "latents"])
      expect(await failure(collect(vae.decodeStream(source as unknown as Clip)))).toMatch(/^attr: /);
  });

  it("is refused by its range: what is not finite is reported, not spread", async () => {
    for (const [bad, shown] of [
      [Number.NaN, "NaN"],
      [Number.POSITIVE_INFINITY, "Infinity"],
      [1e6, "1000000"],
    ] as const) {
      const values = latents.values.slice();
      values[17] = bad;
      expect(await failure(vae.decode({ ...latents, values }))).toMatch(
        new RegExp(`^attr: \\[decode\\] \\[latents\\] expected finite .* got ${shown}`),
      );
    }
    const levels = noiseClip([1, 16, 16, 3]);
    levels.values[3] = 255;
    expect(await failure(vae.encode(levels))).toMatch(/^attr: \[encode\] \[frames\].* 127\.5/);
    // What came before the bad piece is handed out, and the autoencoder goes on working.
    const broken = { ...latents, values: latents.values.slice().fill(Number.NaN) };
    const seen: number[] = [];
    const stream = (async () => {
      for await (const { dims } of vae.decodeStream([latents, broken], { plan: cut(1, 4) })) seen.push(dims[0]);
    })();
    expect(await failure(stream)).toMatch(/^attr: /);
    expect(seen).toEqual([1, 4]);
    expect((await vae.decode(latents)).values.every(Number.isFinite)).toBe(true);
  });

  it("weights that give no finite results are reported", async () => {
    const { weights } = randomWeights();
    const broken = Object.create(weights) as typeof weights;
    const scaled = (w: typeof weights): typeof weights =>
      Object.assign(Object.create(w), {
        path: w.path,
        at: (name: string | number) => scaled(w.at(name)),
        tensor: (name: string, dims: readonly number[]) => {
          const tensor = w.tensor(name, dims);
          const { buffer } = tensor.storage.place!;
          if (w.path.endsWith("conv_out") && name === "bias")
            buffer.writeSync(new Float32Array(dims[0]!).fill(Number.NaN));
          return tensor;
        },
      });
    const bad = await CausalVideoAutoencoder.fromWeights(scaled(broken), SMALL);
    expect(await failure(bad.decode(latents))).toMatch(/^weights: \[decode\] expected finite results/);
    await bad.close();
  });
});

describe("a stream that is stopped", () => {
  it("by a signal says so, with the signal's reason", async () => {
    const reason = new Error("enough");
    const before = AbortSignal.abort(reason);
    expect(await failure(vae.decode(latents, { signal: before }))).toMatch(/^cancelled: /);
    const controller = new AbortController();
    const seen: number[] = [];
    const work = (async () => {
      const options = { plan: cut(1, 4), signal: controller.signal };
      for await (const { dims } of vae.decodeStream(noiseClip([5, 2, 2, 4]), options)) {
        seen.push(dims[0]);
        if (seen.length === 2) controller.abort(reason);
      }
    })();
    await expect(work).rejects.toMatchObject({ code: "cancelled", cause: reason });
    expect(seen).toEqual([1, 4]);
    const running = new AbortController();
    const run = vae.decode(noiseClip([3, 8, 8, 4]), { signal: running.signal });
    setTimeout(() => running.abort(), 15);
    expect(await failure(run)).toMatch(/^cancelled: /);
    expect((await vae.decode(latents)).dims).toEqual([5, 16, 16, 3]);
  });

  it("by its reader asks for no further input", async () => {
    let closed = false;
    async function* endless(): AsyncGenerator<Clip> {
      try {
        for (;;) yield latents;
      } finally {
        closed = true;
      }
    }
    let count = 0;
    for await (const piece of vae.decodeStream(endless(), { plan: cut(2, 8) })) {
      expect(piece.dims[0]).toBe(count === 0 ? 1 : 8);
      if (++count === 3) break;
    }
    expect(closed).toBe(true);
  });

  it("by closing the autoencoder says so", async () => {
    const other = await openSmall();
    const stream = other.decodeStream([latents, latents], { plan: cut(1, 4) });
    await stream.next();
    await other.close();
    expect(await failure(stream.next())).toMatch(/^attr: .*open autoencoder, got a closed one/);
    expect(await failure(other.decode(latents))).toMatch(/^attr: /);
  });
});

describe("opening", () => {
  const folder = mkdtempSync(join(tmpdir(), "vd-causal-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("refuses types and devices that there are not", async () => {
    const open = (options: object) => CausalVideoAutoencoder.fromWeights(randomWeights().weights, SMALL, options);
    expect(await failure(open({ dtype: "float16" }))).toMatch(/^unsupported: .*float32 on the CPU/);
    expect(await failure(open({ dtype: "int8" }))).toMatch(/^attr: /);
    expect(await failure(open({ maxBytes: -1 }))).toMatch(/^attr: /);
    expect(await failure(open({ signal: AbortSignal.abort() }))).toMatch(/^cancelled: /);
  });

  it("refuses files that do not fit", async () => {
    expect(await failure(CausalVideoAutoencoder.fromPretrained(join(folder, "none.safetensors")))).toMatch(
      /^(io|weights): /,
    );
    const header = Buffer.from(JSON.stringify({ x: { dtype: "F32", shape: [1], data_offsets: [0, 4] } }));
    const size = Buffer.alloc(8);
    size.writeBigUInt64LE(BigInt(header.length));
    const path = join(folder, "model.safetensors");
    writeFileSync(path, Buffer.concat([size, header, Buffer.alloc(4)]));
    expect(await failure(CausalVideoAutoencoder.fromPretrained(path))).toMatch(/^weights: .*encoder\.conv_in\.weight/);
    for (const text of ["{", "[]", '{"block_out_channels": 5}']) {
      writeFileSync(join(folder, "config.json"), text);
      expect(await failure(CausalVideoAutoencoder.fromPretrained(folder))).toMatch(/^weights: .*config\.json/);
    }
  });

  it("takes convolutions behind the encoder and before the decoder where the configuration has them", async () => {
    const config = parseCausalVaeConfig({ block_out_channels: [32, 32], norm_num_groups: 8, temporal_scale_num: 1 });
    const { weights, asked } = randomWeights();
    const other = await CausalVideoAutoencoder.fromWeights(weights, config);
    expect([...asked]).toEqual(expect.arrayContaining(["quant_conv.weight", "post_quant_conv.weight"]));
    const { mode, dims } = await other.encode(noiseClip([4, 4, 4, 3]));
    expect(dims).toEqual([3, 2, 2, 4]);
    expect((await other.decode({ values: mode, dims })).dims).toEqual([5, 4, 4, 3]);
    await other.close();
  });
});
