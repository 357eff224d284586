import { type CaseOf, defineCases } from "../../contract/define-case";
import timestepEmbedding from "./timestep_embedding.op";

type Case = CaseOf<typeof timestepEmbedding>;

const t = { dims: [1, 9], fill: { values: [0, 0.02, 1, 1.638, 6, 127, 250.5, -1.5, 999] } };

export default defineCases(timestepEmbedding, {
  correctness: [
    { name: "width 2", inputs: { t }, attrs: { width: 2 } },
    { name: "width 32", inputs: { t }, attrs: { width: 32 } },
    { name: "width 256", inputs: { t }, attrs: { width: 256 } },
    { name: "width 320", inputs: { t }, attrs: { width: 320 } },
    { name: "other period", inputs: { t }, attrs: { width: 30, maxPeriod: 100 } },
    { name: "shift of 1", inputs: { t }, attrs: { width: 32, downscaleShift: 1 } },
    { name: "several rows", inputs: { t: [3, 5] }, attrs: { width: 18 } },
    { name: "on gaps", inputs: { t: { dims: [3, 5], gap: 4 } }, attrs: { width: 18 }, outGap: 6 },
  ] satisfies Case[],
  bench: [
    { name: "tiny.unet.time_proj", inputs: { t: [1, 1] }, attrs: { width: 64 } },
    { name: "svd-xt.unet.add_time_proj", inputs: { t: [2, 3] }, attrs: { width: 256 } },
  ],
});
