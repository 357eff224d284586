import { type CaseOf, defineCases, epilogueCases, type Operand } from "../../contract/define-case";
import layerNormLinear from "./layer_norm_linear.op";

type Case = CaseOf<typeof layerNormLinear>;
type Dims = readonly [number, number, number, number];

/** A layer to `rows` columns behind a norm with weight and bias. */
function layer(name: string, x: Dims, rows: number, { inputs, attrs, ...more }: Partial<Case> = {}): Case {
  const channels = x[3];
  return {
    name,
    inputs: { x, weight: [rows, channels], normWeight: [channels], normBias: [channels], ...inputs },
    attrs: { eps: 1e-5, ...attrs },
    ...more,
  };
}

/** The same behind a norm without weight and bias. */
function bare(name: string, x: Dims, rows: number, { inputs, attrs, ...more }: Partial<Case> = {}): Case {
  return { name, inputs: { x, weight: [rows, x[3]], ...inputs }, attrs: { eps: 1e-6, ...attrs }, ...more };
}

const geglu: Case["attrs"] = { act: "geglu" };
const swiglu: Case["attrs"] = { act: "swiglu" };

/** Tokens around a mean. */
const around = (dims: Dims, mean: number, deviation: number): Operand => ({ dims, fill: { mean, deviation } });

const shapes: Case[] = [
  layer("1 token, 1 channel", [1, 1, 1, 1], 1),
  layer("1 token of 5 channels", [1, 1, 1, 5], 3),
  layer("odd", [2, 3, 5, 7], 11),
  layer("37 channels", [1, 2, 19, 37], 33),
  layer("64 channels, 8 tokens", [1, 1, 8, 64], 40, { inputs: { bias: [40] } }),
  layer("9 tokens", [1, 1, 9, 264], 37),
  layer("many short tokens", [2, 3, 211, 24], 20),
  layer("611 channels", [1, 1, 3, 611], 5),
  layer("more channels than registers hold", [1, 1, 5, 2056], 24),
  layer("wide", [1, 2, 9, 40], 331),
  layer("640 channels", [1, 1, 130, 640], 136, { inputs: { bias: [136], residual: [1, 1, 130, 136] } }),
  layer("640 channels, geglu", [1, 2, 33, 640], 80, { inputs: { bias: [80] }, attrs: geglu }),
  layer("320 channels to 960", [1, 2, 75, 320], 960, { inputs: { bias: [960] } }),
  layer("320 channels, geglu", [1, 3, 110, 320], 656, {
    inputs: { bias: [656], residual: [1, 3, 110, 328] },
    attrs: { ...geglu, outScale: 0.5, residualScale: -2 },
  }),
  layer("320 channels, swiglu", [1, 1, 257, 320], 656, { inputs: { bias: [656] }, attrs: swiglu }),
  bare("320 channels, neither weight nor bias", [1, 1, 65, 320], 168),
  bare("37 channels, neither weight nor bias", [2, 1, 19, 37], 33),
  bare("weight of the norm alone", [1, 2, 21, 48], 40, { inputs: { normWeight: [48] } }),
  bare("bias of the norm alone", [1, 2, 21, 48], 40, { inputs: { normBias: { dims: [48], dtype: "bf16" } } }),
  layer("eps 0", [1, 1, 12, 48], 24, { attrs: { eps: 0 } }),
  layer("eps 0.5", [1, 1, 12, 48], 24, { attrs: { eps: 0.5 } }),
];

/** Where clips, frames and the tokens of a frame are more than the CPU normalises at a time. */
const inParts: Case[] = [
  layer("tokens of a frame in parts", [1, 2, 300, 2056], 8, {
    inputs: { frameBias: [1, 2, 8], residual: [1, 2, 300, 8] },
  }),
  layer("frames in parts", [2, 7, 70, 1032], 8, { inputs: { frameBias: [2, 7, 8], residual2: [2, 7, 70, 8] } }),
  layer("clips in parts", [9, 4, 21, 1032], 8, { inputs: { frameBias: [9, 1, 8] }, outGap: 3 }),
];

/** Tokens that sums of squares without the mean would spoil, and those without any deviation. */
const means: Case[] = [
  layer("a large mean beside small deviations", [1, 1, 33, 48], 40, { inputs: { x: around([1, 1, 33, 48], 100, 1) } }),
  layer("320 channels, a large mean beside small deviations", [1, 1, 70, 320], 64, {
    inputs: { x: around([1, 1, 70, 320], 20, 0.5) },
  }),
  layer("small numbers", [2, 1, 9, 48], 24, { inputs: { x: around([2, 1, 9, 48], 0, 0.003) } }),
  layer("tokens of one number", [1, 1, 9, 48], 24, { inputs: { x: around([1, 1, 9, 48], 1.5, 0), bias: [24] } }),
  layer("320 channels, tokens of one number", [1, 1, 70, 320], 64, {
    inputs: { x: around([1, 1, 70, 320], -2, 0), bias: [64] },
  }),
];

const placed: Case[] = [
  layer("on gaps", [2, 2, 9, 13], 21, {
    inputs: { x: { dims: [2, 2, 9, 13], gap: 26, shiftBytes: 8 } },
    outGap: 42,
  }),
  layer("everything on aligned gaps", [1, 2, 45, 136], 136, {
    inputs: {
      x: { dims: [1, 2, 45, 136], gap: 8 },
      bias: [136],
      frameBias: { dims: [1, 2, 136], gap: 8 },
      residual: { dims: [1, 2, 45, 136], gap: 8 },
      residual2: { dims: [1, 2, 45, 136], gap: 16 },
    },
    attrs: { act: "silu", outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
    outGap: 24,
  }),
];

const gatedOf = (act: "geglu" | "swiglu", rows: number): Case[] => {
  const [x, out] = [
    [2, 2, 6, 10],
    [2, 2, 6, rows / 2],
  ] as const;
  const everything = {
    bias: [rows],
    frameBias: { dims: [2, 2, rows], gap: 2 },
    residual: { dims: out, gap: 3 },
    residual2: out,
  };
  return [
    layer(`${act} of ${rows}`, x, rows, { attrs: { act } }),
    layer(`${act} of ${rows}, everything`, x, rows, {
      inputs: everything,
      attrs: { act, outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
      outGap: 1,
    }),
  ];
};
const gated = [2, 66].flatMap((rows) => [...gatedOf("geglu", rows), ...gatedOf("swiglu", rows)]);

const base = [2, 3, 4, 5] as const;
const ofType = (dims: readonly number[], dtype: NonNullable<Operand["dtype"]>, shiftBytes = 0): Operand => ({
  dims,
  dtype,
  shiftBytes,
});
const types: Case[] = [
  layer("weight f16", base, 19, { inputs: { weight: ofType([19, 5], "f16") } }),
  layer("weight bf16", base, 19, { inputs: { weight: ofType([19, 5], "bf16") } }),
  layer("weights at odd bytes", base, 19, {
    inputs: {
      weight: ofType([19, 5], "f32", 1),
      normWeight: ofType([5], "f32", 1),
      normBias: ofType([5], "bf16", 3),
    },
  }),
  layer("geglu, weight f16", base, 38, { inputs: { weight: ofType([38, 5], "f16") }, attrs: geglu }),
  layer("norm f16 and bf16", [1, 2, 9, 48], 24, {
    inputs: { normWeight: ofType([48], "f16"), normBias: ofType([48], "bf16") },
  }),
  layer("weights that may change", base, 19, {
    inputs: {
      weight: { dims: [19, 5], constant: false },
      normWeight: { dims: [5], constant: false },
      normBias: { dims: [5], constant: false },
    },
  }),
  layer("norm that may change", [1, 2, 9, 48], 24, {
    inputs: { normWeight: { dims: [48], constant: false }, normBias: { dims: [48], constant: false } },
  }),
  ...(["f16", "bf16"] as const).flatMap((dtype): Case[] => [
    layer(`x ${dtype}`, base, 19, { inputs: { x: ofType(base, dtype), weight: ofType([19, 5], dtype) } }),
    layer(`x ${dtype}, 64 channels`, [1, 2, 33, 64], 48, {
      inputs: { x: ofType([1, 2, 33, 64], dtype), weight: ofType([48, 64], dtype) },
    }),
    layer(`x ${dtype}, weight f32`, [1, 2, 33, 64], 48, { inputs: { x: ofType([1, 2, 33, 64], dtype) } }),
    layer(`x ${dtype}, a large mean`, [1, 1, 65, 320], 64, {
      inputs: { x: { ...around([1, 1, 65, 320], 8, 0.5), dtype }, weight: ofType([64, 320], dtype) },
    }),
    layer(`x ${dtype}, tokens of one number`, [1, 1, 65, 320], 64, {
      inputs: { x: { ...around([1, 1, 65, 320], 0.75, 0), dtype }, weight: ofType([64, 320], dtype), bias: [64] },
    }),
  ]),
];

/** Layers that a Hopper GPU normalises in its tiles: packed tokens of 320 channels, of two bytes each, in tiles that are whole or not. The
 *  largest ones take float64 seconds: each gate has one in one type. */
const tiles: Case[] = (["f16", "bf16"] as const).flatMap((dtype) =>
  [64, 300, 1500].flatMap((tokens) =>
    (
      [
        ["320 columns", 320, {}],
        ["960 columns", 960, {}],
        ...(tokens < 1500 || dtype === "f16" ? [["geglu of 2560", 2560, geglu] as const] : []),
        ...(tokens < 1500 || dtype === "bf16" ? [["swiglu of 2560", 2560, swiglu] as const] : []),
      ] as const
    ).map(([what, rows, attrs]) => {
      const x = [1, 1, tokens, 320] as const;
      const inputs = { x: ofType(x, dtype), weight: ofType([rows, 320], dtype), bias: ofType([rows], dtype) };
      return layer(`tiles of ${dtype}: ${tokens} tokens, ${what}`, x, rows, { inputs, attrs });
    }),
  ),
);

/** In such tiles: norms that lack a weight or a bias, or have them in 16 bits, tokens with gaps between them, a residual, and so many tokens
 *  that a block takes several rows of tiles. */
const tilesAndNorms: Case[] = (["f16", "bf16"] as const).flatMap((dtype): Case[] => {
  const x: Dims = [1, 1, 300, 320];
  const inputs = { x: ofType(x, dtype), weight: ofType([320, 320], dtype) };
  const many: Dims = [1, 1, 17_100, 320];
  return [
    bare(`tiles of ${dtype}: no weight, no bias`, x, 320, { inputs }),
    bare(`tiles of ${dtype}: weight of the norm alone`, x, 320, { inputs: { ...inputs, normWeight: [320] } }),
    bare(`tiles of ${dtype}: bias of the norm alone`, x, 320, { inputs: { ...inputs, normBias: [320] } }),
    layer(`tiles of ${dtype}: norm of 16 bits, gaps between tokens, residual`, x, 320, {
      inputs: {
        ...{ ...inputs, x: { dims: x, dtype, gap: 8 }, residual: ofType([1, 1, 300, 320], dtype) },
        ...{ normWeight: ofType([320], dtype), normBias: ofType([320], dtype) },
      },
    }),
    ...(dtype === "f16"
      ? [
          layer("tiles of f16: several for a block", many, 64, {
            inputs: { x: ofType(many, dtype), weight: ofType([64, 320], dtype) },
          }),
        ]
      : []),
  ];
});

const epilogue = epilogueCases({ out: [2, 3, 7, 21], rows: 21 }).map(
  ({ name, inputs, attrs }): Case => layer(name, [2, 3, 7, 9], 21, { inputs, attrs }),
);

/** With the frame's bias and both residuals where tiles are whole and where they are not. */
const tilesAndEpilogue: Case[] = ([64, 75] as const).map((tokens) => {
  const out = [2, 2, tokens, 320];
  const operand = (dims: readonly number[]) => ofType(dims, "f16");
  return layer(`tiles of f16: 4 frames of ${tokens} tokens, everything`, [2, 2, tokens, 320], 320, {
    inputs: {
      ...{ x: operand([2, 2, tokens, 320]), weight: operand([320, 320]), bias: operand([320]) },
      ...{ frameBias: operand([2, 2, 320]), residual: operand(out), residual2: operand(out) },
    },
    attrs: { outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
  });
});

/** A timed layer of the UNet behind its norm. */
const timed = (name: string, x: Dims, rows: number, attrs: Case["attrs"] = {}): Case =>
  layer(name, x, rows, { inputs: { bias: [rows] }, attrs });

export default defineCases(layerNormLinear, {
  correctness: [
    ...[...shapes, ...inParts, ...means, ...placed, ...gated],
    ...[...types, ...epilogue, ...tiles, ...tilesAndNorms, ...tilesAndEpilogue],
  ],
  bench: [
    timed("tiny.unet.down0.attn0.spatial.norm1.qkv", [2, 14, 256, 64], 192),
    timed("tiny.unet.down0.attn0.spatial.norm3.ff.gate", [2, 14, 256, 64], 512, geglu),
    timed("svd-xt.unet.down0.attn0.spatial.norm1.qkv", [2, 25, 9216, 320], 960),
    timed("svd-xt.unet.down0.attn0.spatial.norm3.ff.gate", [2, 25, 9216, 320], 2560, geglu),
    timed("svd-xt.unet.down1.attn0.spatial.norm3.ff.gate", [2, 25, 2304, 640], 5120, geglu),
  ],
});
