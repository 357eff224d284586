import { attr, defineOp, eq, float, int, mod } from "../../contract/op-kit";

export default defineOp({
  id: "timestep_embedding",
  summary: "Embeds numbers as cosines then sines of geometric frequencies, computed in float32.",
  formula: ["ω[i] = maxPeriod^(−i / (width/2 − downscaleShift))", "y = (cos(t · ω), sin(t · ω))"],
  source: [
    "https://arxiv.org/abs/1706.03762",
    "huggingface/diffusers@58eb52c src/diffusers/models/embeddings.py get_timestep_embedding",
  ],
  inputs: { t: { dims: ["B", "N"], dtype: ["f32"], doc: "numbers to embed" } },
  attrs: {
    width: int("channels per number, even", { min: 2, max: 65536 }),
    maxPeriod: float("longest period", 10000, { min: 1 }),
    downscaleShift: float("subtracted from width/2 in the exponent's divisor", 0, { min: 0 }),
  },
  outputs: { y: { dims: ["B", "N", attr("width")], dtype: ["f32", "f16", "bf16"], doc: "[cos, sin]" } },
  rules: [{ where: "width", test: eq(mod(attr("width"), 2), 0), expected: "an even number", got: attr("width") }],
  cost: ({ B, N, width }) => ({ flops: 4 * B! * N! * width! }),
  tolerance: { f32: { nmse: 1e-8, worst: 5e-4 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
