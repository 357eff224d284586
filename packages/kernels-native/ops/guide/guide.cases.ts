import { defineCases } from "../../contract/define-case";
import guide from "./guide.op";

export default defineCases(guide, {
  correctness: [
    { name: "odd", inputs: { x: [2, 5, 3, 4, 4], scale: [5] } },
    { name: "one frame", inputs: { x: [2, 1, 3, 4, 7], scale: [1] } },
    { name: "no guidance", inputs: { x: [2, 3, 2, 2, 4], scale: { dims: [3], fill: { values: [1] } } } },
    { name: "on gaps", inputs: { x: { dims: [2, 3, 2, 2, 4], gap: 4 }, scale: [3] }, outGap: 12 },
    { name: "x f16", inputs: { x: { dims: [2, 3, 2, 2, 4], dtype: "f16" }, scale: [3] } },
  ],
  bench: [
    { name: "tiny.guide", inputs: { x: [2, 14, 16, 16, 4], scale: [14] } },
    { name: "svd-xt.guide", inputs: { x: [2, 25, 72, 128, 4], scale: [25] } },
  ],
});
