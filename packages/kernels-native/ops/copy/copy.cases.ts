import { defineCases } from "../../contract/define-case";
import copy from "./copy.op";

export default defineCases(copy, {
  correctness: [
    { name: "packed", inputs: { x: [2, 3, 5, 7] } },
    { name: "one number", inputs: { x: [1, 1, 1, 1] } },
    { name: "into gaps", inputs: { x: [2, 3, 5, 7] }, outGap: 9 },
    { name: "out of gaps", inputs: { x: { dims: [2, 3, 5, 8], gap: 8, shiftBytes: 4 } } },
    { name: "x f16", inputs: { x: { dims: [1, 2, 5, 8], dtype: "f16" } } },
    { name: "x bf16", inputs: { x: { dims: [1, 2, 5, 8], dtype: "bf16" } } },
  ],
  bench: [
    { name: "tiny.unet.up0.concat", inputs: { x: [2, 14, 16, 128] }, outGap: 128 },
    { name: "svd-xt.unet.up3.concat", inputs: { x: [2, 25, 9216, 320] }, outGap: 320 },
  ],
});
