import {
  add,
  and,
  attr,
  bool,
  choose,
  defineOp,
  divides,
  eq,
  FLOATS,
  float,
  int,
  present,
} from "../../contract/op-kit";

export default defineOp({
  id: "group_norm_stats",
  summary: "Computes mean and 1/sqrt(variance + eps) of channel groups, so that a clip can be normalised in parts.",
  formula: [
    "stats[g] = (mean[g], 1 / √(variance[g] + eps))",
    "from moments: variance[g] = Σ (variance[f,c] + (mean[f,c] − mean[g])²) / n over the n channels c of g, and frames f where joined",
  ],
  source: ["https://arxiv.org/abs/1803.08494"],
  inputs: {
    x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" },
    x2: { dims: ["B", "F", "H", "W", "C2"], dtype: FLOATS, optional: true, doc: "further channels after those of x" },
    moments: {
      dims: ["B", "F", "C", 2],
      dtype: ["f32"],
      optional: true,
      doc: "mean and biased variance of each channel of each frame of x, as conv finds them; x and x2 are then not read",
    },
    moments2: { dims: ["B", "F", "C2", 2], dtype: ["f32"], optional: true, doc: "the same of x2" },
  },
  attrs: {
    groups: int("number of channel groups", { min: 1, max: 65536 }),
    eps: float("added to the variance", undefined, { min: 0 }),
    joinFrames: bool("statistics over F, H, W instead of H, W"),
  },
  outputs: {
    stats: {
      dims: ["B", choose(attr("joinFrames"), 1, "F"), attr("groups"), 2],
      dtype: ["f32"],
      apart: ["moments", "moments2"],
      doc: "mean and 1/sqrt(variance + eps), biased variance",
    },
  },
  rules: [
    divides("groups", add("C", "C2")),
    {
      where: "moments2",
      test: eq(present("moments2"), and(present("moments"), present("x2"))),
      expected: "moments2 where there are x2 and moments, and only there",
      got: present("moments2"),
    },
  ],
  cost: ({ B, F, H, W, C, C2 }) => ({ flops: 4 * B! * F! * H! * W! * (C! + C2!) }),
  tolerance: { f32: { nmse: 1e-11, worst: 1e-4 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
