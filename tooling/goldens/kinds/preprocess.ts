import {
  blurredRuns,
  cubicTaps,
  framesToUint8,
  framesToUnit,
  gaussianKernel,
  type RgbImage,
  resample,
  resizeLanczos,
} from "@vd/media";
import { clipPixelValues, vaeInput, vaeInputFromTensor } from "@vd/svd-pipeline";
import { exact, maxAbs } from "../compare";
import type { Fixture, GoldenKind, TensorCheck } from "../kind";

/** The reference blurs in float32: so many values of size 1, each half a unit in the last place off. */
const blurTolerance = 2e-6;
/** The blur's weights are below 1 and take a handful of float32 operations. */
const kernelTolerance = 3e-7;
/** One float32 rounding of a value in [0, 1]. */
const unitTolerance = 1e-7;

interface Case {
  fixture: Fixture;
  image: RgbImage;
  /** `out.NAME.` */
  prefix: string;
  /** Side of the image encoder's input in pixels. */
  clipSize: number;
}

function imageOf(fixture: Fixture, name: string): RgbImage {
  const [height, width] = fixture.shape(name);
  return { width: width!, height: height!, data: fixture.bytes(name) };
}

async function blurred({ image, clipSize }: Case): Promise<Float32Array> {
  const { width, height } = image;
  // A resize to the same size changes nothing.
  const runs = (size: number) => blurredRuns(gaussianKernel(size, clipSize), cubicTaps(size, size), size);
  const pixels = await resample(image, { x: runs(width), y: runs(height) });
  const area = width * height;
  return Float32Array.from(pixels, (_, i) => pixels[(i % area) * 3 + Math.floor(i / area)]!);
}

async function pixelValues({ fixture, image, clipSize }: Case, name: string): Promise<TensorCheck> {
  const { clip_mean: mean, clip_std: std, tolerance } = fixture.json;
  const golden = fixture.float64(name);
  // Some fixtures keep the first channels only.
  const ours = await clipPixelValues(image, { size: clipSize, mean, std });
  return maxAbs(name, ours.subarray(0, golden.length), golden, tolerance.pixel_values.maxabs);
}

function tensorInput({ fixture, image }: Case, name: string): TensorCheck {
  const [, , height, width] = fixture.shape(name);
  const area = image.width * image.height;
  const data = new Float32Array(3 * area);
  for (let i = 0; i < data.length; i++) data[(i % 3) * area + Math.floor(i / 3)] = image.data[i]! / 255;
  const ours = vaeInputFromTensor({ channels: 3, width: image.width, height: image.height, data }, width!, height!);
  return maxAbs(name, ours, fixture.float64(name), fixture.json.tolerance.vae_input.maxabs);
}

/** Compares one `out.NAME.PART`; undefined for a part that this kind does not know. */
async function checkPart(part: string, current: Case): Promise<TensorCheck | undefined> {
  const { fixture, image, prefix, clipSize } = current;
  const name = prefix + part;
  const golden = () => fixture.float64(name);
  if (part === "kernel_x") return maxAbs(name, gaussianKernel(image.width, clipSize), golden(), kernelTolerance);
  if (part === "kernel_y") return maxAbs(name, gaussianKernel(image.height, clipSize), golden(), kernelTolerance);
  if (part === "blurred") return maxAbs(name, await blurred(current), golden(), blurTolerance);
  if (part === "pixel_values") return pixelValues(current, name);
  if (part === "tensor_input") return tensorInput(current, name);
  if (part === "vae_input") {
    const [, , height, width] = fixture.shape(name);
    return maxAbs(name, await vaeInput(image, width!, height!), golden(), fixture.json.tolerance.vae_input.maxabs);
  }
  const size = /^resize\.(\d+)x(\d+)$/.exec(part);
  if (!size) return undefined;
  const resized = await resizeLanczos(image, Number(size[2]), Number(size[1]));
  return exact(name, resized.data, golden());
}

/** Parts in the order in which they are computed; others, such as resize.HxW, come after. */
const partOrder = ["kernel_x", "kernel_y", "blurred", "pixel_values"];

async function* checkImage(current: Case): AsyncGenerator<TensorCheck> {
  const { fixture, prefix } = current;
  const rank = (part: string) => (partOrder.indexOf(part) + partOrder.length + 1) % (partOrder.length + 1);
  const parts = fixture.names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  for (const part of parts.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))) {
    const name = prefix + part;
    const unknown = {
      name,
      metric: "exact",
      error: Number.NaN,
      tolerance: 0,
      ok: false,
      note: "unknown part",
    } as const;
    yield (await checkPart(part, current)) ?? unknown;
  }
}

function* checkFrames(fixture: Fixture): Iterable<TensorCheck> {
  const [batch, , numFrames, height, width] = fixture.shape("in.frames") as [number, number, number, number, number];
  const shape = { numFrames, height, width };
  const area = height * width;
  const strides = { frame: area, channel: numFrames * area, row: width, column: 1 };
  const values = fixture.float32("in.frames");
  const videoLength = 3 * numFrames * area;
  const unit: number[] = [];
  const bytes: number[] = [];
  for (let b = 0; b < batch; b++) {
    const video = values.subarray(b * videoLength, (b + 1) * videoLength);
    for (const value of framesToUnit(video, shape, strides)) unit.push(value);
    for (const value of framesToUint8(video, shape, strides)) bytes.push(value);
  }
  if (fixture.has("out.frames.np"))
    yield maxAbs("out.frames.np", unit, fixture.float64("out.frames.np"), unitTolerance);
  if (fixture.has("out.frames.uint8")) yield exact("out.frames.uint8", bytes, fixture.float64("out.frames.uint8"));
}

/** Pictures to the image encoder's and the VAE's input, and decoded frames to 8 bits. Always float32, on the CPU. */
export const preprocess: GoldenKind = {
  kind: "preprocess",
  async *run(fixture) {
    const inputs = fixture.names.filter((name) => /^in\..+\.rgb$/.test(name));
    const sized = fixture.names.find((name) => name.endsWith(".pixel_values"));
    const clipSize = sized === undefined ? 224 : fixture.shape(sized).at(-1)!;
    for (const input of inputs) {
      const prefix = input.replace(/^in\./, "out.").replace(/rgb$/, "");
      yield* checkImage({ fixture, image: imageOf(fixture, input), prefix, clipSize });
    }
    if (fixture.has("in.frames")) yield* checkFrames(fixture);
  },
};
