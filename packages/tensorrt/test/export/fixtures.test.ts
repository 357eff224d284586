import { describe, expect, it } from "vitest";
import { clipGraph, unetGraph, vaeDecoderGraph, vaeEncoderGraph } from "../../src/export/parts";
import { FREE_SIZES } from "../../src/index";
import { relative, runExported, runOurs } from "../support/compare";
import { clipFixture, unetFixture, vaeFixture } from "../support/fixtures";

const LIMIT = 1e-4;
const FREE = [
  ["fixed sizes", []],
  ["free sizes", FREE_SIZES],
] as const;

const dataOf = (inputs: Record<string, { data: Float32Array }>) =>
  Object.fromEntries(Object.entries(inputs).map(([name, { data }]) => [name, data]));

/** A UNet, its recorded call and what to export for it. */
function unetCall(name: string) {
  const { model, numbers } = unetFixture(name);
  const sample = numbers("in.sample");
  const [batch, frames, , height, width] = sample.dims as [number, number, number, number, number];
  const context = numbers("in.encoder_hidden_states");
  const inputs = {
    sample,
    timestep: { data: numbers("in.timestep").data, dims: [1] },
    encoder_hidden_states: context,
    added_time_ids: numbers("in.added_time_ids"),
  };
  const shape = { batch, frames, width, height, free: [] };
  const extra = { factor: 1, contextTokens: context.dims[1]! };
  return { model, numbers, inputs, shape, extra };
}

describe.each(["unet_a", "unet_b"])("%s", (name) => {
  const { model, numbers, inputs, shape, extra } = unetCall(name);

  it("gives in ONNX Runtime what our kernels and the reference give", async () => {
    const part = unetGraph(model, shape, extra);
    const { out_sample: result } = await runExported({ ...part, type: "float" }, inputs);
    const ours = await runOurs(part.build, dataOf(inputs));
    expect(result!.dims).toEqual([shape.batch, shape.frames, 4, shape.height, shape.width]);
    expect(relative(result!.data, ours.out_sample!)).toBeLessThan(LIMIT);
    expect(relative(result!.data, numbers("out.sample").data)).toBeLessThan(LIMIT);
  });

  it("stays near them in float16", async () => {
    const part = unetGraph(model, shape, extra);
    const { out_sample: result } = await runExported({ ...part, type: "float16" }, inputs);
    expect(relative(result!.data, numbers("out.sample").data)).toBeLessThan(5e-3);
  });
});

// unet_b's sides do not halve at every level, which free sizes must.
describe("unet_a with free sizes", () => {
  const { model, numbers, inputs, shape, extra } = unetCall("unet_a");

  it("gives what the reference gives, exported for other sizes", async () => {
    const part = unetGraph(model, { ...shape, batch: 1, frames: 9, width: 64, free: FREE_SIZES }, extra);
    const { out_sample: result } = await runExported({ ...part, type: "float" }, inputs);
    expect(relative(result!.data, numbers("out.sample").data)).toBeLessThan(LIMIT);
  });
});

describe.each(FREE)("vae_a with %s", (_, free) => {
  const { model, numbers } = vaeFixture();

  it("encodes in ONNX Runtime as our kernels and the reference do", async () => {
    const image = numbers("in.image");
    const [batch, , height, width] = image.dims as [number, number, number, number];
    const part = vaeEncoderGraph(model, { batch, frames: 1, width, height, free });
    const { moments } = await runExported({ ...part, type: "float" }, { image });
    const fixed = vaeEncoderGraph(model, { batch, frames: 1, width, height, free: [] });
    const ours = await runOurs(fixed.build, { image: image.data });
    expect(relative(moments!.data, ours.moments!)).toBeLessThan(LIMIT);
    expect(relative(moments!.data, numbers("out.moments").data)).toBeLessThan(LIMIT);
  });

  it.each(["b1f1", "b1f5", "b2f3"])("decodes %s in ONNX Runtime as our kernels and the reference do", async (label) => {
    const z = numbers(`in.z.${label}`);
    const [batch, frames] = [Number(label[1]), Number(label[3])];
    const [, , h, w] = z.dims as [number, number, number, number];
    const latents = { data: z.data, dims: [batch, frames, 4, h, w] };
    const shape = { batch, frames, width: 2 * w, height: 2 * h };
    const part = vaeDecoderGraph(model, { ...shape, free });
    const { frames: result } = await runExported({ ...part, type: "float" }, { latents });
    const ours = await runOurs(vaeDecoderGraph(model, { ...shape, free: [] }).build, { latents: z.data });
    expect(relative(result!.data, ours.frames!)).toBeLessThan(LIMIT);
    expect(relative(result!.data, numbers(`out.dec.${label}`).data)).toBeLessThan(LIMIT);
  });
});

describe.each(["clip_gelu", "clip_quick"])("%s", (name) => {
  it.each(FREE)("embeds in ONNX Runtime as our kernels and the reference do, with %s", async (_, free) => {
    const { model, numbers, clipConfig } = clipFixture(name);
    const pixels = numbers("in.pixel_values");
    const picture = { size: clipConfig.imageSize, channels: 3, width: clipConfig.projectionDim };
    const part = clipGraph(model, { batch: pixels.dims[0]!, free }, picture);
    const { image_embeds: result } = await runExported({ ...part, type: "float" }, { pixel_values: pixels });
    const fixed = clipGraph(model, { batch: pixels.dims[0]!, free: [] }, picture);
    const ours = await runOurs(fixed.build, { pixel_values: pixels.data });
    expect(relative(result!.data, ours.image_embeds!)).toBeLessThan(LIMIT);
    expect(relative(result!.data, numbers("out.image_embeds").data)).toBeLessThan(LIMIT);
  });
});
