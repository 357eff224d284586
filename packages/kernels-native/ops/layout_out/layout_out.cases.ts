import { defineCases } from "../../contract/define-case";
import layoutOut from "./layout_out.op";

export default defineCases(layoutOut, {
  correctness: [
    { name: "odd", inputs: { x: [2, 3, 4, 7, 5] } },
    { name: "one channel", inputs: { x: [1, 2, 6, 5, 1] } },
    { name: "scaled and shifted", inputs: { x: [2, 3, 4, 7, 5] }, attrs: { scale: -0.5, shift: 0.25 } },
    { name: "on gaps", inputs: { x: { dims: [1, 2, 4, 5, 3], gap: 3 } }, attrs: { scale: 2 }, outGap: 5 },
    { name: "x f16", inputs: { x: { dims: [2, 3, 4, 7, 5], dtype: "f16" } } },
  ],
  bench: [
    { name: "tiny.latents", inputs: { x: [1, 14, 16, 16, 4] } },
    { name: "svd-xt.latents", inputs: { x: [1, 25, 72, 128, 4] } },
    { name: "svd-xt.picture", inputs: { x: [1, 25, 576, 1024, 3] }, attrs: { scale: 2, shift: -1 } },
  ],
});
