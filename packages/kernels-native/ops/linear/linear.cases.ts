import { type CaseOf, defineCases, epilogueCases } from "../../contract/define-case";
import linear from "./linear.op";

type Case = CaseOf<typeof linear>;

const shapes: Case[] = [
  { name: "1 token, 1 channel", inputs: { x: [1, 1, 1, 1], weight: [1, 1] } },
  { name: "1 token", inputs: { x: [1, 1, 1, 64], weight: [33, 64] } },
  { name: "odd", inputs: { x: [2, 3, 5, 7], weight: [11, 7] } },
  { name: "multiples of 16", inputs: { x: [1, 2, 32, 64], weight: [48, 64] } },
  { name: "one more than 64", inputs: { x: [1, 1, 65, 65], weight: [65, 65] } },
  { name: "many tokens", inputs: { x: [1, 3, 211, 24], weight: [20, 24] } },
  { name: "long rows", inputs: { x: [1, 1, 3, 611], weight: [5, 611] } },
  { name: "wide", inputs: { x: [1, 2, 9, 40], weight: [331, 40] } },
  { name: "on gaps", inputs: { x: { dims: [2, 2, 9, 13], gap: 26, shiftBytes: 8 }, weight: [21, 13] }, outGap: 42 },
  {
    name: "8 tokens, everything",
    inputs: { x: [2, 2, 2, 264], weight: [37, 264], bias: [37], frameBias: [2, 2, 37], residual: [2, 2, 2, 37] },
    attrs: { act: "silu", outScale: 0.5 },
  },
  { name: "9 tokens", inputs: { x: [1, 1, 9, 264], weight: [37, 264] } },
  // Tiles of 88 and 64 tokens, whole and ragged, by one block, by two that share weights and by four.
  {
    name: "257 tokens to 392",
    inputs: { x: [1, 1, 257, 328], weight: [392, 328], bias: [392] },
    attrs: { act: "gelu" },
  },
  { name: "87 tokens to 72", inputs: { x: [1, 1, 87, 64], weight: [72, 64] } },
  {
    name: "2 frames of 45 tokens, everything",
    inputs: {
      x: [1, 2, 45, 136],
      weight: [136, 136],
      bias: [136],
      frameBias: [1, 2, 136],
      residual: { dims: [1, 2, 45, 136], gap: 8 },
      residual2: [1, 2, 45, 136],
    },
    attrs: { act: "silu", outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
    outGap: 8,
  },
  {
    name: "350 tokens, weight that may change",
    inputs: { x: [1, 1, 350, 616], weight: { dims: [264, 616], constant: false }, bias: [264] },
  },
  {
    name: "700 tokens to 72",
    inputs: { x: [1, 1, 700, 456], weight: [72, 456], bias: [72], residual: [1, 1, 700, 72] },
  },
  { name: "two inputs", inputs: { x: [2, 2, 7, 12], x2: [2, 2, 7, 5], weight: [23, 17] } },
  {
    name: "two inputs on gaps",
    inputs: { x: { dims: [1, 2, 9, 3], gap: 4 }, x2: { dims: [1, 2, 9, 30], gap: 1 }, weight: [18, 33] },
    outGap: 5,
  },
  { name: "320 channels", inputs: { x: [1, 2, 75, 320], weight: [328, 320], bias: [328], residual: [1, 2, 75, 328] } },
  { name: "320 channels without bias", inputs: { x: [1, 1, 65, 320], weight: [168, 320] } },
  { name: "320 channels, 5 tokens", inputs: { x: [1, 1, 5, 320], weight: [320, 320], bias: [320] } },
  {
    name: "320 channels, 3 tokens, geglu",
    inputs: { x: [1, 1, 3, 320], weight: [64, 320], bias: [64] },
    attrs: { act: "geglu" },
  },
  {
    name: "320 channels, geglu",
    inputs: { x: [1, 3, 110, 320], weight: [656, 320], bias: [656], residual: [1, 3, 110, 328] },
    attrs: { act: "geglu", outScale: 0.5, residualScale: -2 },
  },
  {
    name: "192 channels, geglu",
    inputs: { x: [1, 1, 300, 192], weight: [1040, 192], bias: [1040] },
    attrs: { act: "geglu" },
  },
  {
    name: "320 channels, 3 tokens, swiglu",
    inputs: { x: [1, 1, 3, 320], weight: [64, 320], bias: [64] },
    attrs: { act: "swiglu" },
  },
  {
    name: "320 channels, swiglu",
    inputs: { x: [1, 3, 110, 320], weight: [656, 320], bias: [656], residual: [1, 3, 110, 328] },
    attrs: { act: "swiglu", outScale: 0.5, residualScale: -2 },
  },
  {
    name: "192 channels, swiglu",
    inputs: { x: [1, 1, 300, 192], weight: [1040, 192], bias: [1040] },
    attrs: { act: "swiglu" },
  },
  {
    name: "two inputs, geglu",
    inputs: { x: [1, 2, 7, 12], x2: [1, 2, 7, 5], weight: [46, 17] },
    attrs: { act: "geglu" },
  },
];

const gatedOf = (act: "geglu" | "swiglu", rows: number): Case[] => {
  const base = { x: [2, 2, 6, 10], weight: [rows, 10] };
  const [out, attrs] = [[2, 2, 6, rows / 2], { act }];
  return [
    { name: `${act} of ${rows}`, inputs: base, attrs },
    {
      name: `${act} of ${rows}, everything`,
      inputs: {
        ...base,
        bias: [rows],
        frameBias: { dims: [2, 2, rows], gap: 2 },
        residual: { dims: out, gap: 3 },
        residual2: out,
      },
      attrs: { ...attrs, outScale: 0.5, residualScale: -2, residual2Scale: 0.25 },
      outGap: 1,
    },
  ];
};
const gated = [2, 14, 66, 384].flatMap((rows) => [...gatedOf("geglu", rows), ...gatedOf("swiglu", rows)]);

const base = { x: [2, 3, 4, 5] };
const types: Case[] = [
  { name: "weight f16", inputs: { ...base, weight: { dims: [19, 5], dtype: "f16" } } },
  { name: "weight bf16", inputs: { ...base, weight: { dims: [19, 5], dtype: "bf16" } } },
  { name: "weight f32 at byte 1", inputs: { ...base, weight: { dims: [19, 5], shiftBytes: 1 } } },
  { name: "weight f16 at byte 1", inputs: { ...base, weight: { dims: [19, 5], dtype: "f16", shiftBytes: 1 } } },
  { name: "weight bf16 at byte 3", inputs: { ...base, weight: { dims: [19, 5], dtype: "bf16", shiftBytes: 3 } } },
  { name: "geglu, weight f16", inputs: { ...base, weight: { dims: [38, 5], dtype: "f16" } }, attrs: { act: "geglu" } },
  {
    name: "geglu of 48, weight f16",
    inputs: { x: [1, 2, 5, 12], weight: { dims: [48, 12], dtype: "f16" } },
    attrs: { act: "geglu" },
  },
  { name: "large weight f16", inputs: { x: [1, 1, 10, 250], weight: { dims: [300, 250], dtype: "f16" } } },
  { name: "large weight bf16", inputs: { x: [1, 1, 10, 250], weight: { dims: [300, 250], dtype: "bf16" } } },
  { name: "weight that may change", inputs: { ...base, weight: { dims: [19, 5], constant: false } } },
  { name: "x f16", inputs: { x: { dims: base.x, dtype: "f16" }, weight: { dims: [19, 5], dtype: "f16" } } },
  { name: "x bf16", inputs: { x: { dims: base.x, dtype: "bf16" }, weight: { dims: [19, 5], dtype: "bf16" } } },
];

const epilogue = epilogueCases({ out: [2, 3, 7, 21], rows: 21 }).map(
  (each): Case => ({ ...each, inputs: { x: [2, 3, 7, 9], weight: [21, 9], ...each.inputs } }),
);

const layer = (name: string, x: number[], rows: number, more: Partial<Case> = {}): Case => ({
  name,
  inputs: { x, weight: [rows, x[3]!], bias: [rows], ...more.inputs },
  attrs: more.attrs ?? {},
});
const geglu: Partial<Case> = { attrs: { act: "geglu" } };
const onto = (out: number[]): Partial<Case> => ({ inputs: { residual: out } });

export default defineCases(linear, {
  correctness: [...shapes, ...gated, ...types, ...epilogue],
  bench: [
    layer("tiny.unet.down0.res0.time_emb_proj", [2, 1, 1, 256], 64),
    layer("tiny.unet.down0.attn0.spatial.qkv", [2, 14, 256, 64], 192),
    layer("tiny.unet.down0.attn0.spatial.to_out", [2, 14, 256, 64], 64, onto([2, 14, 256, 64])),
    layer("tiny.unet.down0.attn0.spatial.ff.gate", [2, 14, 256, 64], 512, geglu),
    layer("tiny.unet.down0.attn0.spatial.ff.out", [2, 14, 256, 256], 64, onto([2, 14, 256, 64])),
    {
      name: "tiny.unet.up2.res0.conv_shortcut",
      inputs: { x: [2, 14, 256, 64], x2: [2, 14, 256, 64], weight: [64, 128], bias: [64] },
    },
    layer("svd-xt.unet.down0.attn0.spatial.qkv", [2, 25, 9216, 320], 960),
    layer("svd-xt.unet.down0.attn0.spatial.to_out", [2, 25, 9216, 320], 320, onto([2, 25, 9216, 320])),
    layer("svd-xt.unet.down0.attn0.spatial.ff.gate", [2, 25, 9216, 320], 2560, geglu),
    layer("svd-xt.unet.down0.attn0.spatial.ff.out", [2, 25, 9216, 1280], 320, onto([2, 25, 9216, 320])),
    layer("svd-xt.unet.mid.attn0.spatial.ff.gate", [2, 25, 144, 1280], 10240, geglu),
    layer("1536 channels to 4096, 32760 tokens, swiglu", [1, 1, 32760, 1536], 8192, { attrs: { act: "swiglu" } }),
    layer("svd-xt.clip.layer0.fc1", [1, 1, 257, 1280], 5120, { attrs: { act: "gelu" } }),
    {
      name: "svd-xt.unet.up3.res0.conv_shortcut",
      inputs: { x: [2, 25, 9216, 640], x2: [2, 25, 9216, 320], weight: [320, 960], bias: [320] },
    },
    // Of the table of 8-bit ops on the CPU in docs/kernels/quantized.md.
    layer("one-core.1280 to 1280", [1, 1, 1152, 1280], 1280),
    layer("one-core.640 to 2560, geglu", [1, 1, 576, 640], 5120, geglu),
  ],
});
