import { defineOp, FLOATS } from "../../contract/op-kit";

export default defineOp({
  id: "frames_out",
  summary:
    "Turns decoded frames, nominally in [-1,1], into 8 bits: clamp(x/2 + 0.5, 0, 1) · 255, rounded half to even; NaN gives 0.",
  formula: ["y = round(255 · min(max(x/2 + 0.5, 0), 1)), halves to even"],
  source: ["huggingface/diffusers@58eb52c src/diffusers/image_processor.py `denormalize`, `numpy_to_pil`"],
  inputs: { x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "frames" } },
  attrs: {},
  outputs: { y: { dims: ["B", "F", "H", "W", "C"], dtype: ["u8"], doc: "levels" } },
  rules: [],
  cost: ({ B, F, H, W, C }) => ({ flops: 3 * B! * F! * C! * H! * W! }),
  // Levels are whole numbers: nothing may differ.
  tolerance: { f32: { nmse: 0, worst: 0 }, f16: { nmse: 0, worst: 0 }, bf16: { nmse: 0, worst: 0 } },
});
