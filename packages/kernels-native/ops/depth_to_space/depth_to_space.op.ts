import { attr, defineOp, div, eq, FLOATS, ints, mod, mul, oneOf } from "../../contract/op-kit";

const volume = mul(attr("block", 0), mul(attr("block", 1), attr("block", 2)));

export default defineOp({
  id: "depth_to_space",
  summary:
    "Moves channels into frames, height and width. channels_first: channel = c · block + (dt · bh + dy) · bw + dx, as " +
    "pixel_shuffle; channels_last: channel = ((dy · bw + dx) · bt + dt) · C + c, as SeedVR's upsampler.",
  formula: [
    "channels_first: y[f·bt + dt, h·bh + dy, w·bw + dx, c] = x[f, h, w, c·block + (dt·bh + dy)·bw + dx]",
    "channels_last: y[f·bt + dt, h·bh + dy, w·bw + dx, c] = x[f, h, w, ((dy·bw + dx)·bt + dt)·C + c]",
  ],
  source: [
    "https://arxiv.org/abs/1609.05158",
    "ByteDance-Seed/SeedVR models/video_vae_v3/modules/attn_video_vae.py Upsample3D",
  ],
  inputs: { x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" } },
  attrs: {
    block: ints("growth of frames, height, width", 3, { min: 1, max: 16 }),
    order: oneOf("DepthOrder", ["channels_first", "channels_last"], "how channels are numbered", "channels_first"),
  },
  outputs: {
    y: {
      dims: ["B", mul("F", attr("block", 0)), mul("H", attr("block", 1)), mul("W", attr("block", 2)), div("C", volume)],
      dtype: FLOATS,
      apart: ["x"],
      doc: "result",
    },
  },
  rules: [
    { where: "x", test: eq(mod("C", volume), 0), expected: "channels that are a multiple of the block", got: "C" },
  ],
  cost: () => ({ flops: 0 }),
  tolerance: { f32: { nmse: 0, worst: 0 }, f16: { nmse: 0, worst: 0 }, bf16: { nmse: 0, worst: 0 } },
});
