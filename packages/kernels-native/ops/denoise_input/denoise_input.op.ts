import { add, attr, defineOp, eq, FLOATS, int } from "../../contract/op-kit";

export default defineOp({
  id: "denoise_input",
  summary:
    "Builds the denoiser's input: noisy latents times inputScale, then the image's latents as further channels on every " +
    "frame; with two rows the first is the unconditional one, whose image latents are zero.",
  formula: [
    "y[row] = (inputScale · latents, image), side by side in channels; with two rows row 0 has zeros for image",
  ],
  source: [
    "huggingface/diffusers@58eb52c src/diffusers/pipelines/stable_video_diffusion/pipeline_stable_video_diffusion.py",
  ],
  inputs: {
    latents: { dims: ["B1", "F", "H", "W", "C"], dtype: FLOATS, doc: "noisy latents, one clip" },
    image: { dims: ["B1", 1, "H", "W", "C2"], dtype: FLOATS, doc: "latents of the conditioning picture" },
    inputScale: { dims: ["B1"], dtype: ["f32"], doc: "preconditioning factor of this step" },
  },
  attrs: { rows: int("1 without guidance, 2 with it", { min: 1, max: 2 }) },
  outputs: { y: { dims: [attr("rows"), "F", "H", "W", add("C", "C2")], dtype: FLOATS, doc: "denoiser input" } },
  rules: [{ where: "latents", test: eq("B1", 1), expected: "one clip", got: "B1" }],
  cost: ({ F, H, W, C, rows }) => ({ flops: rows! * F! * H! * W! * C! }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
