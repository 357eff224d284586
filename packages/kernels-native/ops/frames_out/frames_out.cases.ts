import { defineCases } from "../../contract/define-case";
import framesOut from "./frames_out.op";

export default defineCases(framesOut, {
  correctness: [
    { name: "odd", inputs: { x: [1, 3, 5, 7, 3] } },
    { name: "in range", inputs: { x: { dims: [1, 2, 8, 16, 3], fill: { mean: 0, deviation: 0.4 } } } },
    { name: "two clips", inputs: { x: [2, 2, 4, 4, 3] } },
    { name: "on gaps", inputs: { x: { dims: [1, 2, 3, 5, 3], gap: 5 } }, outGap: 1 },
    {
      name: "halves and ends",
      inputs: { x: { dims: [1, 1, 1, 4, 2], fill: { values: [-1, 1, 0, 2, -3, 0.25, -0.25, 0.5] } } },
    },
    {
      name: "not finite",
      inputs: {
        x: {
          dims: [1, 1, 1, 4, 2],
          fill: { values: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e-40, -0, 0.5, 3e38, -1] },
        },
      },
    },
    { name: "x f16", inputs: { x: { dims: [1, 3, 5, 7, 3], dtype: "f16" } } },
  ],
  bench: [
    { name: "tiny.frames_out", inputs: { x: [1, 14, 128, 128, 3] } },
    { name: "svd-xt.frames_out", inputs: { x: [1, 25, 576, 1024, 3] } },
  ],
});
