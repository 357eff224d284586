import {
  attentionAttrs,
  attentionLengths,
  attentionMasks,
  attentionOperands,
  attentionRules,
  attr,
  defineOp,
  FLOATS,
} from "../../contract/op-kit";

export default defineOp({
  id: "attention_backward",
  summary:
    "Computes the gradients of attention by its queries, keys and values, those that are given a place, from the result y, " +
    "the log-sum-exp lse and the gradient dy of the result. Rows without any allowed key add nothing. q and k are those of " +
    "the products: normalised and rotated if they were.",
  formula: [
    "p[i,j] = exp(scale · q[i] · k[j] + mask[i,j] − lse[i])",
    "delta[i] = dy[i] · y[i]",
    "ds[i,j] = p[i,j] · (dy[i] · v[j] − delta[i])",
    "dq[i] = scale · Σⱼ ds[i,j] · k[j]",
    "dk[j] = scale · Σᵢ ds[i,j] · q[i]",
    "dv[j] = Σᵢ p[i,j] · dy[i]",
  ],
  source: ["https://arxiv.org/abs/2205.14135", "https://arxiv.org/abs/2307.08691"],
  inputs: {
    ...attentionOperands,
    y: { dims: ["B", "F", "S", "E"], dtype: FLOATS, halfOnCpu: true, doc: "result of attention" },
    lse: { dims: ["B", "F", attr("heads"), "S"], dtype: ["f32"], doc: "its log-sum-exp" },
    dy: { dims: ["B", "F", "S", "E"], dtype: FLOATS, halfOnCpu: true, doc: "gradient by y" },
    ...attentionMasks,
  },
  attrs: attentionAttrs,
  derived: attentionLengths,
  outputs: {
    delta: {
      dims: ["B", "F", attr("heads"), "S"],
      dtype: ["f32"],
      apart: "all",
      doc: "sums of dy · y over the channels of a head, from which all gradients are computed",
    },
    dq: {
      dims: ["B", "F", "S", "E"],
      dtype: FLOATS,
      optional: true,
      halfOnCpu: true,
      apart: "all",
      doc: "gradient by q",
    },
    dk: {
      dims: ["B", "Fk", "L", "E"],
      dtype: FLOATS,
      optional: true,
      halfOnCpu: true,
      apart: "all",
      doc: "gradient by k; where one frame of keys serves all frames, the sum over them",
    },
    dv: {
      dims: ["B", "Fk", "L", "E"],
      dtype: FLOATS,
      optional: true,
      halfOnCpu: true,
      apart: "all",
      doc: "gradient by v; where one frame of values serves all frames, the sum over them",
    },
  },
  rules: attentionRules,
  cost: ({ B, F, S, E, L, Fk, axis }) => ({ flops: 10 * B! * F! * S! * E! * (axis === 1 ? Fk! : L!) }),
  tolerance: {
    f32: { nmse: 1e-11, worst: 1e-4 },
    f16: { nmse: 4e-6, worst: 3e-2 },
    bf16: { nmse: 2.3e-4, worst: 0.2 },
  },
});
