import { defineCases } from "../../contract/define-case";
import layoutIn from "./layout_in.op";

export default defineCases(layoutIn, {
  correctness: [
    { name: "odd", inputs: { x: [2, 3, 5, 4, 7] } },
    { name: "one channel", inputs: { x: [1, 2, 1, 6, 5] } },
    { name: "scaled and shifted", inputs: { x: [2, 3, 5, 4, 7] }, attrs: { scale: -0.5, shift: 0.25 } },
    { name: "on gaps", inputs: { x: { dims: [1, 2, 3, 4, 5], gap: 3 } }, attrs: { scale: 2 }, outGap: 5 },
    { name: "x f16", inputs: { x: { dims: [2, 3, 5, 4, 7], dtype: "f16" } } },
  ],
  bench: [
    { name: "tiny.latents", inputs: { x: [1, 14, 4, 16, 16] } },
    { name: "svd-xt.latents", inputs: { x: [1, 25, 4, 72, 128] } },
    { name: "svd-xt.picture", inputs: { x: [1, 1, 3, 576, 1024] }, attrs: { scale: 2, shift: -1 } },
  ],
});
