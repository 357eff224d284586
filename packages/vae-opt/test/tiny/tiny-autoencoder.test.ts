import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDevice } from "@vd/kernels-native";
import { CpuGenerator, layoutGraph, writeSafetensors } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { TinyAutoencoder, tinyDecoder } from "../../src/index";
import { openTiny } from "../../src/tiny/open";
import { noise } from "../support/run-module";
import { type NamedWeights, type Planes, referenceDecode, referenceEncode } from "./reference";

const CHANNELS = 6;
const device = openDevice("cpu", { threads: 2 });
const random = new CpuGenerator(7);

type Decoding = Parameters<typeof referenceDecode>[2];
type Encoding = Parameters<typeof referenceEncode>[2];

/** The decoder of the published layout behind its clamp, with one block a level, and one of other channels. */
const decoderLayers = (block: "block" | "memory block"): Decoding => [
  ...(["conv", "relu", block, "grow", "conv", block, "grow", "conv", block, "conv"] as const),
];
const ENCODER: Encoding = ["conv", "block", "shrink", "block", "shrink", "block", "conv"];

function weightsOf(layers: readonly string[], [first, last]: readonly [number, number]): NamedWeights {
  const weights = new Map<string, { shape: number[]; values: Float64Array }>();
  const add = (name: string, shape: number[]) => {
    const count = shape.reduce((product, dim) => product * dim, 1);
    const scale = shape.length > 1 ? 1 / Math.sqrt(count / shape[0]!) : 0.1;
    const values = random.randn(Math.max(count, 16)).subarray(0, count);
    weights.set(name, { shape, values: Float64Array.from(values, (value) => Math.fround(value * scale)) });
  };
  const isConv = (layer: string) => layer === "conv" || layer === "shrink";
  const convs = layers.flatMap((layer, i) => (isConv(layer) ? [i] : []));
  for (const [i, layer] of layers.entries()) {
    const [isFirst, isLast] = [i === convs[0], i === convs.at(-1)];
    if (isConv(layer)) {
      add(`${i}.weight`, [isLast ? last : CHANNELS, isFirst ? first : CHANNELS, 3, 3]);
      if (isFirst || isLast) add(`${i}.bias`, [isLast ? last : CHANNELS]);
    }
    if (!layer.endsWith("block")) continue;
    for (const [part, cin] of [
      [0, layer === "block" ? CHANNELS : 2 * CHANNELS],
      [2, CHANNELS],
      [4, CHANNELS],
    ] as const) {
      add(`${i}.conv.${part}.weight`, [CHANNELS, cin, 3, 3]);
      add(`${i}.conv.${part}.bias`, [CHANNELS]);
    }
  }
  return weights;
}

/** Writes halves into a file. shift: how much later layers are numbered, as where the clamp counts. */
function write(
  path: string,
  halves: readonly (readonly [prefix: string, shift: number, weights: NamedWeights])[],
): string {
  const tensors = halves.flatMap(([prefix, shift, weights]) =>
    [...weights].map(([name, { shape, values }]) => ({
      name: prefix + name.replace(/^\d+/, (index) => String(Number(index) + shift)),
      dtype: "F32" as const,
      shape,
      data: () => new Uint8Array(Float32Array.from(values).buffer),
    })),
  );
  writeSafetensors(path, tensors);
  return path;
}

const DIMS = { numFrames: 3, height: 3, width: 2 };
const z = noise(3 * 4 * 3 * 2).map((value) => 3 * value);
const planesOf = (values: Float32Array, frame: number, [c, h, w]: readonly [number, number, number]): Planes =>
  Array.from({ length: c }, (_, k) =>
    Array.from({ length: h }, (_, i) =>
      Array.from({ length: w }, (_, j) => values[((frame * c + k) * h + i) * w + j]!),
    ),
  );

/** Frames [F,H,W,3] as numbers. */
const pixelsOf = (frames: readonly Planes[]): number[] =>
  frames.flatMap((x) => x[0]!.flatMap((row, i) => row.flatMap((_, j) => x.map((plane) => plane[i]![j]!))));

const expectClose = (values: Float32Array, wanted: readonly number[]) => {
  expect(values.length).toBe(wanted.length);
  expect(Math.max(...wanted.map((value, i) => Math.abs(value - values[i]!)))).toBeLessThan(2e-5);
};

describe("a tiny decoder whose frames see the ones before", () => {
  const layers = decoderLayers("memory block");
  const weights = weightsOf(layers, [4, 3]);
  const wanted = pixelsOf(
    referenceDecode(
      [0, 1, 2].map((f) => planesOf(z, f, [4, 3, 2])),
      weights,
      layers,
    ),
  );
  const file = () => write(join(temporaryFolder(), "taesdv.safetensors"), [["decoder.", 1, weights]]);

  it("decodes as the definition does: at once, in chunks, and frame by frame", async () => {
    const tiny = await TinyAutoencoder.fromPretrained(file(), { device });
    expect(tiny.seesFrames).toBe(true);
    const frames = await tiny.decode({ ...DIMS, data: z });
    expect([frames.numFrames, frames.height, frames.width]).toEqual([3, 12, 8]);
    expectClose(frames.data, wanted);
    expectClose((await tiny.decode({ ...DIMS, data: z }, { chunkFrames: 1 })).data, wanted);
    const stream = await tiny.stream({ width: 2, height: 3 });
    const made: number[] = [];
    for (let f = 0; f < 3; f++) made.push(...(await stream.next(z.slice(f * 24, (f + 1) * 24))));
    expectClose(Float32Array.from(made), wanted);
    await stream.close();
    await tiny.close();
  });

  it("decodes a stream in the order of its calls, also where nobody waits for them, until it is closed", async () => {
    const tiny = await TinyAutoencoder.fromPretrained(file(), { device });
    const stream = await tiny.stream({ width: 2, height: 3 });
    const frames = [0, 1, 2].map((f) => stream.next(z.slice(f * 24, (f + 1) * 24)));
    const closed = stream.close();
    expectClose(Float32Array.from((await Promise.all(frames)).flatMap((frame) => [...frame])), wanted);
    await closed;
    await stream.close();
    await expect(stream.next(z.slice(0, 24))).rejects.toThrow(/an open stream/);
  });

  it("takes no calls once it is closed, but for streams that are open", async () => {
    const tiny = await TinyAutoencoder.fromPretrained(file(), { device });
    await expect(tiny.stream(undefined as never)).rejects.toThrow(/\[height\] expected a positive whole number/);
    const stream = await tiny.stream({ width: 2, height: 3 });
    await tiny.close();
    const closed = /expected an open autoencoder, got one that was closed/;
    await expect(tiny.decode({ ...DIMS, data: z })).rejects.toThrow(closed);
    await expect(tiny.encode({ ...DIMS, data: z })).rejects.toThrow(closed);
    await expect(tiny.stream({ width: 2, height: 3 })).rejects.toThrow(closed);
    expect((await stream.next(z.subarray(0, 4 * 3 * 2))).length).toBeGreaterThan(0);
    await stream.close();
  });

  it("goes on after latents that are none", async () => {
    const stream = await (await TinyAutoencoder.fromPretrained(file(), { device })).stream({ width: 2, height: 3 });
    await expect(stream.next(new Float32Array(24).fill(Number.NaN))).rejects.toMatchObject({ code: "attr" });
    expectClose(await stream.next(z.slice(0, 24)), wanted.slice(0, wanted.length / 3));
    await stream.close();
  });

  it("refuses results that are not finite, chunks that are none, and other types", async () => {
    const broken = new Map([...weights].map(([name, each]) => [name, { ...each, values: each.values.slice() }]));
    [...broken.values()].at(-1)!.values.fill(Number.POSITIVE_INFINITY);
    const path = write(join(temporaryFolder(), "taesdv.safetensors"), [["decoder.", 1, broken]]);
    const stream = await (await TinyAutoencoder.fromPretrained(path, { device })).stream({ width: 2, height: 3 });
    await expect(stream.next(z.slice(0, 24))).rejects.toThrow(/expected finite results/);
    await stream.close();
    const tiny = await TinyAutoencoder.fromPretrained(file(), { device });
    for (const chunkFrames of [0, -1, 1.5, Number.NaN])
      await expect(tiny.decode({ ...DIMS, data: z }, { chunkFrames })).rejects.toThrow(/\[chunkFrames\]/);
    await expect(TinyAutoencoder.fromPretrained(file(), { device, precision: "int4" as never })).rejects.toThrow(
      /\[precision\] expected one of/,
    );
  });

  it("names keys that are missing or too many", async () => {
    const named = (change: (names: Map<string, { shape: readonly number[]; values: Float64Array }>) => void) => {
      const changed = new Map(weights);
      change(changed);
      const path = write(join(temporaryFolder(), "taesdv.safetensors"), [["decoder.", 1, changed]]);
      return TinyAutoencoder.fromPretrained(path, { device });
    };
    for (const name of weights.keys())
      await expect(named((names) => names.delete(name))).rejects.toMatchObject({ code: "weights" });
    const extra = { shape: [1], values: new Float64Array(1) };
    await expect(named((names) => names.set("2.other.weight", extra))).rejects.toThrow(/other\.weight/);
  });

  it("says before any work that a file lacks its outermost layers", async () => {
    const cut = (prefix: string, whole: NamedWeights, keeps: (index: number) => boolean) => {
      const kept = new Map([...whole].filter(([name]) => keeps(Number.parseInt(name, 10))));
      return write(join(temporaryFolder(), "taesdv.safetensors"), [[prefix, 1, kept]]);
    };
    const encoder = weightsOf(ENCODER, [3, 4]);
    // The first convolution alone, which has a bias, as the last one has.
    for (const path of [cut("decoder.", weights, (index) => index === 0), cut("encoder.", encoder, (i) => i === 6)])
      await expect(TinyAutoencoder.fromPretrained(path, { device })).rejects.toThrow(
        /coder\] expected layers of which the (first|last) one has the three channels of a picture, got one layer/,
      );
    // Channels that do not fit those of the layer before.
    const narrow = new Map(weights);
    narrow.set("9.weight", { shape: [3, 5, 3, 3], values: new Float64Array(3 * 5 * 9) });
    const path = write(join(temporaryFolder(), "taesdv.safetensors"), [["decoder.", 1, narrow]]);
    await expect(TinyAutoencoder.fromPretrained(path, { device })).rejects.toMatchObject({ code: "weights" });
  });

  it("refuses what are no latents, and to encode without an encoder", async () => {
    const tiny = await TinyAutoencoder.fromPretrained(file(), { device });
    await expect(tiny.decode({ ...DIMS, data: z.with(0, Number.NaN) })).rejects.toMatchObject({ code: "attr" });
    await expect(tiny.decode({ ...DIMS, width: 5, data: z })).rejects.toMatchObject({ code: "shape" });
    const video = { numFrames: 1, width: 8, height: 8, data: new Float32Array(192) };
    await expect(tiny.encode(video)).rejects.toMatchObject({ code: "unsupported" });
  });
});

describe("a tiny autoencoder of pictures", () => {
  const [layers, decoder, encoder] = [
    decoderLayers("block"),
    weightsOf(decoderLayers("block"), [4, 3]),
    weightsOf(ENCODER, [3, 4]),
  ];
  const video = { numFrames: 2, width: 8, height: 12, data: noise(2 * 12 * 8 * 3).map((value) => Math.tanh(value)) };
  const check = async (source: string) => {
    const tiny = await TinyAutoencoder.fromPretrained(source, { device });
    expect(tiny.seesFrames).toBe(false);
    const frames = await tiny.decode({ ...DIMS, data: z });
    expectClose(
      frames.data,
      pixelsOf(
        referenceDecode(
          [0, 1, 2].map((f) => planesOf(z, f, [4, 3, 2])),
          decoder,
          layers,
        ),
      ),
    );
    const latents = await tiny.encode(video);
    const first: Planes = [0, 1, 2].map((c) =>
      Array.from({ length: 12 }, (_, i) => Array.from({ length: 8 }, (_, j) => video.data[(i * 8 + j) * 3 + c]!)),
    );
    expectClose(latents.data.subarray(0, 24), referenceEncode(first, encoder, ENCODER).flat(2));
    expect((await tiny.encode(video, { chunkFrames: 1 })).data).toEqual(latents.data);
  };

  it("is read from files of each half", async () => {
    const folder = temporaryFolder();
    write(join(folder, "taesd_decoder.safetensors"), [["", 1, decoder]]);
    write(join(folder, "taesd_encoder.safetensors"), [["", 0, encoder]]);
    await check(folder);
  });

  it("is not guessed at where a folder holds several", async () => {
    const folder = temporaryFolder();
    for (const name of ["taesd_decoder", "taesdxl_decoder"])
      write(join(folder, `${name}.safetensors`), [["", 1, decoder]]);
    await expect(TinyAutoencoder.fromPretrained(folder, { device })).rejects.toThrow(
      /got taesd_decoder\.safetensors, taesdxl_decoder\.safetensors.*give the file/,
    );
  });

  it("is read in diffusers' names", async () => {
    const folder = temporaryFolder();
    write(join(folder, "diffusion_pytorch_model.safetensors"), [
      ["decoder.layers.", 0, decoder],
      ["encoder.layers.", 0, encoder],
    ]);
    await check(folder);
  });
});

it.each(["block", "memory block"] as const)("a %s is three convolutions, and the ReLU behind its sum", async (kind) => {
  const path = write(join(temporaryFolder(), "half.safetensors"), [
    ["decoder.", 1, weightsOf(decoderLayers(kind), [4, 3])],
  ]);
  const { weights, layers } = (await openTiny(path)).decoder!;
  const { graph } = layoutGraph((g) => g.output("y", tinyDecoder(weights, layers)(g, g.input("z", [1, 2, 3, 2, 4]))));
  const rows = graph.rows.map(({ name, op }) => `${op} ${name.replace(/^.*?(?=\d)/, "")}`);
  expect(rows.slice(1, 6)).toEqual(["conv 1", "conv 3.conv.0", "conv 3.conv.2", "conv 3.conv.4", "elementwise 3.relu"]);
});

describe("without weights", () => {
  it.each(["/no/such/file.safetensors", ""])("says where to get them (%s)", async (source) => {
    await expect(TinyAutoencoder.fromPretrained(source)).rejects.toThrow(/huggingface\.co\/madebyollin/);
  });

  it("says what else a file is", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "taesdv.pth"), "pickle");
    await expect(TinyAutoencoder.fromPretrained(folder)).rejects.toMatchObject({ code: "io" });
    await expect(TinyAutoencoder.fromPretrained(join(folder, "taesdv.pth"))).rejects.toThrow(
      /must be saved as \.safetensors/,
    );
    const other = write(join(folder, "other.safetensors"), [
      ["", 0, new Map([["x.weight", { shape: [1], values: new Float64Array(1) }]])],
    ]);
    await expect(TinyAutoencoder.fromPretrained(other)).rejects.toMatchObject({ code: "weights" });
  });
});
