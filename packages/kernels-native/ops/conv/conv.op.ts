import {
  add,
  attr,
  bool,
  choose,
  convFlops,
  covers,
  defineOp,
  epilogueAttrs,
  epilogueInputs,
  eq,
  FLOATS,
  filterCount,
  int,
  ints,
  keepsChannels,
  mod,
  mul,
  oneOf,
  sizeAlong,
  sizeOrDoubled,
  transposed,
  transposedAttr,
  transposedRules,
  whereTransposed,
} from "../../contract/op-kit";

const groups = attr("groups");
/** Frames of x behind those of `past`. */
const clip = add("N", "F");
const grown = (size: string) => mul(size, add(1, attr("upsample")));

/** Channels of x that the filters are for. */
const filtered = choose(transposed, "M", mul("D", groups));

export default defineOp({
  id: "conv",
  summary:
    "Convolves a channels-last clip over frames, height and width and applies the shared epilogue. Before that, `past` " +
    "frames may stand in front of x, and nearest-2x may double height and width. Padding is zeros; in frames it may " +
    "repeat the first and the last one. With groups, each group of output channels sees the group of input channels at the " +
    "same place. Transposed, pixels are spread by the stride instead: 4x4 filters double height and width. Padding by zeros " +
    "adds nothing on the CPU, whatever the weights; a GPU multiplies its zeros, so that weights which are not finite give " +
    "NaN at the borders there. Inputs that are not finite reach the results whose windows hold them, as infinities or NaN.",
  formula: [
    "sum[g,p,q,k] = Σ over t,r,s,c of x[g·stride₀ + t − pad, p·stride₁ + r − pad, q·stride₂ + s − pad, c] · weight[k,c,t,r,s]",
    "transposed: sum[g,p,q,k] = Σ over r,s,c with 2·i + r = p + 1, 2·j + s = q + 1 of x[g,i,j,c] · weight[c,k,0,r,s]",
    "y = outScale · act(sum + bias + frameBias) + residualScale · residual + residual2Scale · residual2",
    "moments[g,k] = (mean, variance) of y[g,p,q,k] over p,q",
  ],
  source: [
    "https://arxiv.org/abs/1603.07285",
    "huggingface/diffusers@58eb52c src/diffusers/models/resnet.py",
    "https://arxiv.org/abs/2310.05737 (convolutions that are causal in frames)",
  ],
  inputs: {
    x: { dims: ["B", "F", "H", "W", "C"], dtype: FLOATS, doc: "activations" },
    weight: {
      dims: ["M", "D", "T", "R", "S"],
      dtype: FLOATS,
      constant: true,
      doc: "filters, as in the checkpoint: [K,C/groups,T,R,S], or transposed [C,K,1,4,4]",
    },
    ...epilogueInputs(["B", "G", "P", "Q", "K"], "K", "G"),
    past: {
      dims: ["B", "N", "H", "W", "C"],
      dtype: FLOATS,
      optional: true,
      doc:
        "frames in front of x, of x's type. A clip in chunks gives the same bits as in one piece, where each chunk after the " +
        "first has the last T − 1 input frames before it here and no padding in front",
    },
  },
  attrs: {
    stride: ints("steps in frames, height, width", 3, { min: 1, max: 64, default: [1, 1, 1] }),
    padding: ints("size at front, back, top, bottom, left, right", 6, { max: 64, default: [0, 0, 0, 0, 0, 0] }),
    upsample: bool("double height and width by nearest neighbour first"),
    ...epilogueAttrs,
    groups: int("groups of channels that do not mix; divides C and K", { min: 1, max: 65536, default: 1 }),
    framePadding: oneOf(
      "FramePadding",
      ["zeros", "replicate"],
      "what pads in frames: zeros, or the first and the last frame again",
      "zeros",
    ),
    transposed: transposedAttr,
  },
  derived: {
    K: filterCount,
    G: sizeAlong(0, clip, "T"),
    P: sizeOrDoubled(1, "H", "R", grown("H")),
    Q: sizeOrDoubled(2, "W", "S", grown("W")),
  },
  outputs: {
    y: { dims: ["B", "G", "P", "Q", "K"], dtype: FLOATS, apart: ["x", "weight", "past"], doc: "result" },
    moments: {
      dims: ["B", "G", "K", 2],
      dtype: ["f32"],
      apart: "all",
      optional: true,
      doc: "mean and biased variance of each channel over the pixels of each frame of y, as group_norm_stats takes them",
    },
  },
  rules: [
    { where: "weight", test: eq(filtered, "C"), expected: "filters for all channels of x", got: filtered },
    { where: "groups", test: eq(mod("C", groups), 0), expected: "a divisor of x's channels", got: groups },
    { where: "groups", test: eq(mod("K", groups), 0), expected: "a divisor of the output channels", got: groups },
    covers(0, "F", "T", clip),
    covers(1, "H", "R", grown("H")),
    covers(2, "W", "S", grown("W")),
    ...transposedRules,
    whereTransposed("groups", eq(groups, 1), "1", groups),
    whereTransposed("upsample", eq(attr("upsample"), 0), "false", attr("upsample")),
    whereTransposed("past", eq("N", 0), "no past frames", "N"),
    keepsChannels,
  ],
  cost: (sizes) => ({ flops: convFlops(sizes) }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
