import {
  add,
  and,
  attr,
  bool,
  choose,
  convOut,
  defineOp,
  type Expr,
  epilogueAttrs,
  epilogueInputs,
  eq,
  FLOATS,
  ge,
  int,
  ints,
  keepsChannels,
  mod,
  mul,
  oneOf,
  or,
  type Rule,
  sub,
} from "../../contract/op-kit";

const transposed = attr("transposed");
const groups = attr("groups");
/** Frames of x behind those of `past`. */
const clip = add("N", "F");
const grown = (size: string) => mul(size, add(1, attr("upsample")));
const paddingOf = (axis: number) => add(attr("padding", 2 * axis), attr("padding", 2 * axis + 1));
const out = (size: Expr, kernel: string, axis: number) => convOut(size, kernel, attr("stride", axis), paddingOf(axis));
/** A transposed convolution of kernel 4, stride 2 and padding 1 doubles the size. */
const outOrDoubled = (size: string, kernel: string, axis: number) =>
  choose(transposed, mul(2, size), out(grown(size), kernel, axis));
const covers = (where: string, size: Expr, kernel: string, axis: number): Rule => ({
  where,
  test: or(transposed, ge(add(size, paddingOf(axis)), kernel)),
  expected: "a padded size of at least the kernel's",
  got: add(size, paddingOf(axis)),
});

/** What a transposed convolution must be, as every backend computes it as four of 2x2. */
const transposedShape: readonly (readonly [where: string, holds: Expr, expected: string, got: Expr])[] = [
  ["weight", and(eq("T", 1), and(eq("R", 4), eq("S", 4))), "1x4x4 filters where transposed", "R"],
  ["stride", eq(attr("stride", 0), 1), "a step of 1 in frames where transposed", attr("stride", 0)],
  ["stride", eq(attr("stride", 1), 2), "steps of 2 in rows where transposed", attr("stride", 1)],
  ["stride", eq(attr("stride", 2), 2), "steps of 2 in columns where transposed", attr("stride", 2)],
  ...([0, 0, 1, 1, 1, 1] as const).map(
    (size, side) =>
      [
        "padding",
        eq(attr("padding", side), size),
        `a padding of 0,0,1,1,1,1 where transposed`,
        attr("padding", side),
      ] as const,
  ),
  ["groups", eq(groups, 1), "1 where transposed", groups],
  ["upsample", eq(attr("upsample"), 0), "false where transposed", attr("upsample")],
  ["past", eq("N", 0), "no past frames where transposed", "N"],
];

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
    transposed: bool("transposed convolution; 1x4x4 filters, stride 1,2,2, padding 0,0,1,1,1,1"),
  },
  derived: {
    K: choose(transposed, "D", "M"),
    G: out(clip, "T", 0),
    P: outOrDoubled("H", "R", 1),
    Q: outOrDoubled("W", "S", 2),
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
    covers("F", clip, "T", 0),
    covers("H", grown("H"), "R", 1),
    covers("W", grown("W"), "S", 2),
    ...transposedShape.map(([where, holds, expected, got]): Rule => {
      return { where, test: or(sub(1, transposed), holds), expected, got };
    }),
    keepsChannels,
  ],
  // Transposed, every pixel of x meets every tap; else every result does.
  cost: ({ B, F, H, W, C, G, P, Q, K, D, T, R, S, transposed: isTransposed }) => ({
    flops: isTransposed ? 2 * B! * F! * H! * W! * C! * K! * R! * S! : 2 * B! * G! * P! * Q! * K! * D! * T! * R! * S!,
  }),
  tolerance: { f32: { nmse: 1e-12, worst: 2e-5 }, f16: { nmse: 1e-6, worst: 8e-3 }, bf16: { nmse: 1e-4, worst: 6e-2 } },
});
