import { join } from "node:path";
import { computeReference } from "@vd/conformance";
import type { AttrValue } from "@vd/kernels-native/contract";
import type { Plain } from "@vd/kernels-native/references";
import { afterAll, expect, test } from "vitest";
import { opsKind } from "../../goldens/kinds/ops";
import { runFixture } from "../../goldens/run-fixture";
import { FixtureFolder } from "./fixture-folder";
import { GoldenMaker, pixelsOf, planesOf, shaped } from "./golden-maker";

/** The first result of an op by its float64 reference. */
const op = (...call: Parameters<typeof computeReference>): Plain => Object.values(computeReference(...call))[0]!;

const folder = new FixtureFolder();
afterAll(() => folder.remove());

const tolerance = { float32: { rel_l2: 2e-6, timestep_embedding_maxabs: 2e-4 }, float16: { rel_l2: 1e-3 } };

/** A convolution case: sizes of x and of the filter, then what torch would be told. */
function conv(
  m: GoldenMaker,
  name: string,
  text: string,
  x: number[],
  w: number[],
  attrs: Record<string, AttrValue>,
): void {
  m.cases[name] = text;
  const [source, filter, bias] = [m.random(`${name}.x`, x), m.random(`${name}.w`, w), m.random(`${name}.b`, [w[0]!])];
  const kernel = [1, 1, 1, ...w.slice(2)].slice(-3);
  const weight = shaped(filter, [...w.slice(0, 2), ...kernel]);
  m.result(name, planesOf(op("conv", { x: pixelsOf(source), weight, bias }, attrs), x.length));
}

function convWithNorm(m: GoldenMaker, name: string, text: string, eps: number, attrs: Record<string, AttrValue>): void {
  m.cases[name] = text;
  const [x, w] = [m.random(`${name}.x`, [2, 3, 9, 8]), m.random(`${name}.w`, [5, 3, 3, 3])];
  const [g, b, mean] = ["g", "b", "mean"].map((part) => m.random(`${name}.${part}`, [5])) as [Plain, Plain, Plain];
  const variance = m.random(`${name}.var`, [5], true);
  const y = op("conv", { x: pixelsOf(x), weight: shaped(w, [5, 3, 1, 3, 3]) }, attrs);
  const normed = y.data.map((value, i) => {
    const k = i % 5;
    return ((value - mean.data[k]!) / Math.sqrt(variance.data[k]! + eps)) * g.data[k]! + b.data[k]!;
  });
  m.result(name, planesOf({ dims: y.dims, data: normed.map((v) => v / (1 + Math.exp(-v))) }, 4));
}

/** An op on planes without weights. */
function onPlanes(
  m: GoldenMaker,
  id: Parameters<typeof op>[0],
  name: string,
  text: string,
  x: number[],
  attrs: Record<string, AttrValue>,
): void {
  m.cases[name] = text;
  m.result(name, planesOf(op(id, { x: pixelsOf(m.random(`${name}.x`, x)) }, attrs), x.length));
}

function norm(m: GoldenMaker, name: string, text: string, x: number[], attrs: Record<string, AttrValue>): void {
  m.cases[name] = text;
  const source = m.random(`${name}.x`, x);
  const [weight, bias] = [m.random(`${name}.w`, [x[1]!]), m.random(`${name}.b`, [x[1]!])];
  const y = op("group_norm", { x: pixelsOf(source), weight, bias }, { joinFrames: true, act: "none", ...attrs });
  m.result(name, planesOf(y, x.length));
}

function onTokens(
  m: GoldenMaker,
  name: string,
  text: string,
  shapes: Record<string, number[]>,
  compute: (parts: Record<string, Plain>) => Plain,
): void {
  m.cases[name] = text;
  const parts = Object.fromEntries(
    Object.entries(shapes).map(([part, dims]) => [part, m.random(`${name}.${part}`, dims)]),
  );
  const x = parts.x!;
  const y = compute({ ...parts, x: shaped(x, [1, 1, x.data.length / x.dims.at(-1)!, x.dims.at(-1)!]) });
  m.result(name, shaped(y, [...x.dims.slice(0, -1), y.dims.at(-1)!]));
}

const resize = (
  m: GoldenMaker,
  name: string,
  text: string,
  x: number[],
  height: number,
  width: number,
  alignCorners = false,
) => onPlanes(m, "resize", name, text, x, { height, width, mode: name.split(".")[0]!, alignCorners });

/** Numbers embedded; `cosinesFirst`, and a zero behind an odd width. */
function embedding(
  m: GoldenMaker,
  name: string,
  text: string,
  width: number,
  attrs: Record<string, AttrValue>,
  cosinesFirst: boolean,
): void {
  m.cases[name] = text;
  const t = m.given(`${name}.t`, "F32", [4], [0, 1, 17, 640]);
  const even = width - (width % 2);
  const y = op("timestep_embedding", { t: shaped(t, [1, 4]) }, { width: even, ...attrs });
  const data = new Float64Array(4 * width);
  for (let i = 0; i < 4; i++)
    for (let j = 0; j < even; j++) data[i * width + j] = y.data[i * even + (cosinesFirst ? j : (j + even / 2) % even)]!;
  m.result(name, { dims: [4, width], data });
}

test("parameters come from names, descriptions and shapes, whatever they are", async () => {
  const m = new GoldenMaker();
  conv(m, "conv2d.5x5.s3", "conv2d kernel 5 stride 3 padding 2", [2, 3, 11, 13], [4, 3, 5, 5], {
    stride: [1, 3, 3],
    padding: [0, 0, 2, 2, 2, 2],
  });
  conv(m, "conv2d.3x5", "conv2d kernel (3, 5) stride (1, 2) padding (1, 0)", [1, 3, 6, 9], [4, 3, 3, 5], {
    stride: [1, 1, 2],
    padding: [0, 0, 1, 1, 0, 0],
  });
  conv(
    m,
    "conv2d.asym",
    "conv2d kernel 2 stride 2 padding 0 after zero padding (left,right,top,bottom)=(2, 1, 0, 3)",
    [1, 3, 5, 7],
    [4, 3, 2, 2],
    { stride: [1, 2, 2], padding: [0, 0, 0, 3, 2, 1] },
  );
  conv(
    m,
    "conv3d.323",
    "conv3d kernel (3, 2, 3) stride (2, 1, 2) padding (1, 0, 1)",
    [1, 3, 5, 4, 5],
    [4, 3, 3, 2, 3],
    { stride: [2, 1, 2], padding: [1, 1, 0, 0, 1, 1] },
  );
  convWithNorm(
    m,
    "conv_bn_silu.eps1e-2",
    "conv2d (no bias) kernel 3 stride 2 padding 1, batch_norm with running statistics, silu",
    0.01,
    { stride: [1, 2, 2], padding: [0, 0, 1, 1, 1, 1] },
  );
  norm(m, "groupnorm.2d.five", "group_norm 5 groups eps 0.001", [2, 15, 3, 4], { groups: 5, eps: 0.001 });
  norm(m, "groupnorm_silu.frames.odd", "group_norm 4 groups eps 1e-3 then silu", [1, 12, 3, 2, 5], {
    groups: 4,
    eps: 1e-3,
    act: "silu",
  });
  onTokens(
    m,
    "layernorm.wide",
    "layer_norm over the last dimension, eps 1e-2",
    { x: [2, 3, 4, 33], w: [33], b: [33] },
    ({ x, w, b }) => op("layer_norm", { x, weight: w, bias: b }, { eps: 1e-2 }),
  );
  onTokens(
    m,
    "geglu.small",
    "y = linear(x); first half * erf-gelu(second half)",
    { x: [3, 5], w: [14, 5], b: [14] },
    ({ x, w, b }) => op("linear", { x, weight: w, bias: b }, { act: "geglu" }),
  );
  for (const act of ["gelu", "gelu_tanh", "quick_gelu", "silu"])
    onTokens(m, `act.${act}`, act, { x: [2, 9] }, ({ x }) => op("pointwise", { a: x }, { act }));
  resize(m, "nearest.7x3to5x11", "nearest, arbitrary sizes", [2, 2, 7, 3], 5, 11);
  resize(m, "bilinear.3x4to8x9", "size (8,9) bilinear align_corners True", [1, 2, 3, 4], 8, 9, true);
  resize(m, "bicubic.3x4to8x9", "size (8,9) bicubic align_corners False", [1, 2, 3, 4], 8, 9);
  onPlanes(
    m,
    "depth_to_space",
    "depth_to_space.pixel_shuffle3",
    "pixel_shuffle 3: channel = c*9 + dy*3 + dx",
    [1, 18, 2, 3],
    { block: [1, 3, 3] },
  );
  onPlanes(
    m,
    "depth_to_space",
    "depth_to_space.seedvr3d.other",
    "SeedVR: 'b (x y z c) f h w -> b c (f z) (h x) (w y)', x=y=2, z=1",
    [1, 12, 2, 3, 4],
    { block: [1, 2, 2], order: "channels_last" },
  );
  onPlanes(m, "space_to_depth", "space_to_depth.pixel_unshuffle3", "pixel_unshuffle 3", [2, 2, 6, 9], {
    block: [1, 3, 3],
  });
  embedding(
    m,
    "timestep_embedding.sines",
    "flip_sin_to_cos False, downscale_freq_shift 1",
    30,
    { downscaleShift: 1 },
    false,
  );
  embedding(
    m,
    "timestep_embedding.odd",
    "flip_sin_to_cos True, downscale_freq_shift 0, max_period 100",
    33,
    { maxPeriod: 100 },
    true,
  );
  const result = await runFixture(m.write(join(folder.path, "others"), { kind: "ops", tolerance }), [opsKind], {
    device: "cpu",
    dtype: "float32",
  });
  expect(result.firstFailure, JSON.stringify(result.firstFailure)).toBeUndefined();
  expect(result).toMatchObject({ status: "pass", numChecks: Object.keys(m.cases).length });
});

test("a scale that leaves pixels over steps by the scale, as torch does", async () => {
  const m = new GoldenMaker();
  const name = "bilinear.half";
  m.cases[name] = "scale 0.5 bilinear";
  const x = m.random(`${name}.x`, [1, 2, 7, 9]);
  // Every result is the mean of two by two pixels; the last row and column are never seen.
  const means = Array.from({ length: 2 * 3 * 4 }, (_, i) => {
    const [c, y, u] = [Math.floor(i / 12), Math.floor(i / 4) % 3, i % 4];
    const pixel = (dy: number, dx: number) => x.data[(c * 7 + 2 * y + dy) * 9 + 2 * u + dx]!;
    return (pixel(0, 0) + pixel(0, 1) + pixel(1, 0) + pixel(1, 1)) / 4;
  });
  m.result(name, { dims: [1, 2, 3, 4], data: Float64Array.from(means) });
  const result = await runFixture(m.write(join(folder.path, "half"), { kind: "ops", tolerance }), [opsKind], {
    device: "cpu",
    dtype: "float32",
  });
  expect(result).toMatchObject({ status: "pass", numChecks: 1 });
});

test("a wrong result and a case of no known kind fail by name", async () => {
  const m = new GoldenMaker();
  resize(m, "nearest.x2", "interpolate scale 2 nearest", [1, 1, 2, 2], 4, 4);
  m.cases["act.silu"] = "silu";
  m.random("act.silu.x", [3]);
  m.result("act.silu", { dims: [3], data: Float64Array.of(1, 2, 3) });
  m.cases["fft.8"] = "fft";
  const result = await runFixture(m.write(join(folder.path, "bad"), { kind: "ops", tolerance }), [opsKind], {
    device: "cpu",
    dtype: "float32",
  });
  expect(result).toMatchObject({
    status: "fail",
    numChecks: 3,
    numFailures: 2,
    firstFailure: { name: "out.act.silu", metric: "rel_l2" },
  });
  const unknown = new GoldenMaker();
  unknown.cases["fft.8"] = "fft";
  unknown.result("fft.8", { dims: [1], data: Float64Array.of(1) });
  const other = await runFixture(unknown.write(join(folder.path, "unknown"), { kind: "ops", tolerance }), [opsKind], {
    device: "cpu",
    dtype: "float32",
  });
  expect(other.firstFailure).toMatchObject({ name: "out.fft.8", note: "unknown case" });
});

test("a type that the fixture states no tolerance for is not run; float32's must be there", async () => {
  const m = new GoldenMaker();
  resize(m, "nearest.x2", "interpolate scale 2 nearest", [1, 1, 2, 2], 4, 4);
  m.cases["act.silu"] = "silu";
  m.random("act.silu.x", [3]);
  m.result("act.silu", { dims: [3], data: Float64Array.of(1, 2, 3) });
  const run = (stated: object, dtype: "float32" | "bfloat16") =>
    runFixture(m.write(join(folder.path, "stated"), { kind: "ops", tolerance: stated }), [opsKind], {
      device: "cpu",
      dtype,
    });
  expect(await run(tolerance, "bfloat16")).toMatchObject({
    status: "not run",
    reason: "it states no tolerance for bfloat16",
  });
  expect(await run({}, "float32")).toMatchObject({ status: "fail" });
});
