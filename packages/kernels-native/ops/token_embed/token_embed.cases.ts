import { defineCases } from "../../contract/define-case";
import tokenEmbed from "./token_embed.op";

export default defineCases(tokenEmbed, {
  correctness: [
    { name: "odd", inputs: { x: [2, 3, 5, 7], token: [7], position: [6, 7] } },
    { name: "one token", inputs: { x: [1, 1, 1, 16], token: [16], position: [2, 16] } },
    {
      name: "on gaps",
      inputs: { x: { dims: [1, 2, 4, 9], gap: 3 }, token: [9], position: [5, 9] },
      outGap: 6,
    },
    {
      name: "weights f16 and bf16",
      inputs: { x: [1, 1, 4, 9], token: { dims: [9], dtype: "f16" }, position: { dims: [5, 9], dtype: "bf16" } },
    },
    {
      name: "weights at odd bytes",
      inputs: {
        x: [1, 1, 4, 9],
        token: { dims: [9], shiftBytes: 1 },
        position: { dims: [5, 9], dtype: "f16", shiftBytes: 3 },
      },
    },
    { name: "x f16", inputs: { x: { dims: [1, 1, 4, 8], dtype: "f16" }, token: [8], position: [5, 8] } },
  ],
  bench: [
    { name: "tiny.clip.embeddings", inputs: { x: [1, 1, 49, 128], token: [128], position: [50, 128] } },
    { name: "svd-xt.clip.embeddings", inputs: { x: [1, 1, 256, 1280], token: [1280], position: [257, 1280] } },
  ],
});
