import type { CaseOf } from "../../contract/define-case";
import type conv from "./conv.op";
import { around } from "./conv-kinds";

type Case = CaseOf<typeof conv>;

/** Channels in groups that do not mix, and a filter for every channel. */
export const grouped: Case[] = [
  { name: "2 groups", inputs: { x: [2, 2, 5, 7, 24], weight: [32, 12, 1, 3, 3] }, attrs: { groups: 2 } },
  {
    name: "2 groups of 64 to 64",
    inputs: { x: [1, 1, 6, 9, 128], weight: [128, 64, 1, 3, 3], bias: [128] },
    attrs: { groups: 2, padding: around(0, 1) },
  },
  {
    name: "4 groups of 40 to 32, step 2, everything",
    inputs: {
      x: { dims: [2, 2, 9, 21, 160], gap: 8 },
      weight: [128, 40, 1, 3, 3],
      bias: [128],
      frameBias: [2, 2, 128],
      residual: { dims: [2, 2, 5, 11, 128], gap: 8 },
    },
    attrs: { groups: 4, stride: [1, 2, 2], padding: around(0, 1), act: "silu", residualScale: 0.5 },
    outGap: 8,
  },
  {
    name: "2 groups of 72 to 128 over frames",
    inputs: { x: [1, 4, 5, 12, 144], weight: [256, 72, 3, 1, 3] },
    attrs: { groups: 2, padding: around(1, 0, 1) },
  },
  {
    name: "2 groups of 8 to 64 over frames of 2 clips",
    inputs: { x: [2, 3, 5, 12, 16], weight: [128, 8, 3, 1, 1] },
    attrs: { groups: 2, padding: around(1, 0) },
  },
  {
    name: "6 groups of 4 to 4 behind past frames",
    inputs: { x: [1, 2, 4, 7, 24], past: [1, 2, 4, 7, 24], weight: [24, 4, 3, 3, 3], bias: [24] },
    attrs: { groups: 6, padding: around(0, 1), act: "silu" },
  },
  {
    name: "2 groups of 12 to 4, 1x5",
    inputs: { x: [1, 2, 3, 9, 24], weight: [8, 12, 1, 1, 5] },
    attrs: { groups: 2, padding: around(0, 0, 2) },
  },
  {
    name: "3 groups of 5 to 7, everything, on gaps",
    inputs: {
      x: { dims: [2, 3, 6, 5, 15], gap: 5 },
      weight: [21, 5, 2, 3, 3],
      bias: [21],
      frameBias: { dims: [2, 3, 21], gap: 3 },
      residual: { dims: [2, 3, 6, 5, 21], gap: 1 },
      residual2: [2, 3, 6, 5, 21],
    },
    attrs: {
      groups: 3,
      padding: [1, 0, 1, 1, 1, 1],
      act: "silu",
      outScale: 0.6,
      residualScale: 0.4,
      residual2Scale: -1.5,
    },
    outGap: 2,
  },
  {
    name: "8 groups of 4 to 4, step 2",
    inputs: { x: [1, 4, 9, 10, 32], weight: [32, 4, 3, 3, 3] },
    attrs: { groups: 8, stride: [2, 2, 2], padding: around(1, 1) },
  },
  { name: "1x1 in 4 groups", inputs: { x: [1, 2, 3, 5, 32], weight: [64, 8, 1, 1, 1] }, attrs: { groups: 4 } },
  {
    name: "2 groups, doubled",
    inputs: { x: [1, 2, 4, 3, 32], weight: [16, 16, 1, 3, 3] },
    attrs: { groups: 2, upsample: true, padding: around(0, 1) },
  },
  {
    name: "depthwise 3x3",
    inputs: { x: [2, 2, 7, 9, 48], weight: [48, 1, 1, 3, 3], bias: [48] },
    attrs: { groups: 48, padding: around(0, 1), act: "silu" },
  },
  {
    name: "depthwise 3x3 of 21 channels on gaps, everything",
    inputs: {
      x: { dims: [2, 3, 5, 9, 21], gap: 4 },
      weight: { dims: [21, 1, 1, 3, 3], dtype: "f16", shiftBytes: 1 },
      bias: { dims: [21], dtype: "bf16" },
      frameBias: [1, 3, 21],
      residual: { dims: [2, 3, 5, 9, 21], gap: 2 },
    },
    attrs: { groups: 21, padding: around(0, 1), act: "gelu", outScale: -0.5, residualScale: 2 },
    outGap: 7,
  },
  {
    name: "depthwise 3x3 step 2",
    inputs: { x: [1, 2, 8, 13, 32], weight: [32, 1, 1, 3, 3] },
    attrs: { groups: 32, stride: [1, 2, 2], padding: around(0, 1) },
  },
  {
    name: "depthwise 5x5 on f16",
    inputs: { x: { dims: [1, 2, 7, 6, 40], dtype: "f16" }, weight: { dims: [40, 1, 1, 5, 5], dtype: "f16" } },
    attrs: { groups: 40, padding: around(0, 2) },
  },
  {
    name: "depthwise 3x3 over many rows, everything",
    inputs: {
      x: { dims: [1, 2, 75, 5, 16], gap: 8 },
      weight: [16, 1, 1, 3, 3],
      bias: [16],
      frameBias: [1, 2, 16],
      residual: [1, 2, 75, 5, 16],
      residual2: [1, 2, 75, 5, 16],
    },
    attrs: { groups: 16, padding: around(0, 1), act: "silu", outScale: 0.6, residualScale: 0.4, residual2Scale: -1.5 },
    outGap: 8,
  },
  {
    name: "depthwise 3x3 without padding",
    inputs: { x: [1, 1, 9, 8, 16], weight: [16, 1, 1, 3, 3] },
    attrs: { groups: 16 },
  },
  {
    name: "depthwise 5x5 step 2",
    inputs: { x: [2, 2, 35, 11, 24], weight: [24, 1, 1, 5, 5], bias: [24] },
    attrs: { groups: 24, stride: [1, 2, 2], padding: [0, 0, 2, 1, 1, 2] },
  },
  {
    name: "depthwise 3x3x3 step 2",
    inputs: { x: [1, 5, 9, 8, 16], weight: [16, 1, 3, 3, 3] },
    attrs: { groups: 16, stride: [2, 2, 2], padding: around(1, 1) },
  },
  {
    name: "depthwise 3x3x3 behind past frames",
    inputs: { x: [2, 2, 5, 6, 16], past: [2, 2, 5, 6, 16], weight: [16, 1, 3, 3, 3] },
    attrs: { groups: 16, padding: around(0, 1) },
  },
  {
    name: "depthwise 3x3x3, causal",
    inputs: { x: [2, 4, 5, 5, 16], weight: [16, 1, 3, 3, 3] },
    attrs: { groups: 16, padding: [2, 0, 1, 1, 1, 1], framePadding: "replicate" },
  },
  {
    name: "depthwise 3x3 of 136 channels, columns and rows left over",
    inputs: { x: [2, 1, 13, 19, 136], weight: [136, 1, 1, 3, 3], bias: [136], residual: [2, 1, 13, 19, 136] },
    attrs: { groups: 136, padding: around(0, 1), act: "gelu_tanh" },
  },
  {
    name: "depthwise 5x5 step 2 of 72 channels, padded on one side",
    inputs: {
      x: { dims: [1, 2, 21, 37, 72], gap: 8 },
      weight: [72, 1, 1, 5, 5],
      frameBias: [1, 2, 72],
      residual: { dims: [1, 2, 10, 18, 72], gap: 16 },
    },
    attrs: { groups: 72, stride: [1, 2, 2], padding: [0, 0, 3, 0, 0, 3], residualScale: 0.5 },
    outGap: 8,
  },
  {
    name: "depthwise 2x3x3 of 64 channels",
    inputs: { x: [1, 4, 6, 11, 64], weight: [64, 1, 2, 3, 3], bias: [64] },
    attrs: { groups: 64, padding: [1, 0, 1, 1, 1, 1] },
  },
  {
    name: "depthwise 3x3x3 of 64 channels, step 2, behind a past frame",
    inputs: { x: [2, 3, 9, 18, 64], past: [2, 1, 9, 18, 64], weight: [64, 1, 3, 3, 3] },
    attrs: { groups: 64, stride: [1, 2, 2], padding: [0, 1, 1, 1, 1, 1] },
  },
  {
    name: "depthwise 2x5x5 over frames of 2 clips",
    inputs: { x: [2, 3, 8, 10, 24], weight: [24, 1, 2, 5, 5] },
    attrs: { groups: 24, padding: around(0, 2) },
  },
  {
    name: "depthwise 3x5x5 step 2",
    inputs: { x: [1, 3, 9, 20, 64], weight: [64, 1, 3, 5, 5] },
    attrs: { groups: 64, stride: [2, 2, 2], padding: around(1, 2) },
  },
  {
    name: "18 groups of 4 to 4, everything, on gaps",
    inputs: {
      x: { dims: [2, 2, 7, 13, 72], gap: 8 },
      weight: [72, 4, 1, 3, 3],
      bias: [72],
      frameBias: [2, 2, 72],
      residual: { dims: [2, 2, 7, 13, 72], gap: 8 },
      residual2: [2, 2, 7, 13, 72],
    },
    attrs: { groups: 18, padding: around(0, 1), act: "silu", outScale: 0.6, residualScale: 0.4, residual2Scale: -1.5 },
    outGap: 8,
  },
  {
    name: "6 groups of 4 to 4 step 2",
    inputs: { x: [1, 2, 10, 35, 24], weight: [24, 4, 1, 3, 3] },
    attrs: { groups: 6, stride: [1, 2, 2], padding: around(0, 1) },
  },
  ...([8, 16, 32] as const).map(
    (channels): Case => ({
      name: `3 groups of ${channels} to ${channels}, everything, on gaps`,
      inputs: {
        x: { dims: [2, 2, 9, 19, 3 * channels], gap: 8 },
        weight: [3 * channels, channels, 1, 3, 3],
        bias: [3 * channels],
        frameBias: [2, 2, 3 * channels],
        residual: { dims: [2, 2, 9, 18, 3 * channels], gap: 8 },
        residual2: [2, 2, 9, 18, 3 * channels],
      },
      attrs: {
        groups: 3,
        padding: [0, 0, 1, 1, 0, 1],
        act: "silu",
        outScale: 0.6,
        residualScale: 0.4,
        residual2Scale: -1.5,
      },
      outGap: 8,
    }),
  ),
  {
    name: "depthwise 3x3, doubled",
    inputs: { x: [1, 2, 4, 5, 24], weight: [24, 1, 1, 3, 3] },
    attrs: { groups: 24, upsample: true, padding: around(0, 1) },
  },
  {
    name: "depthwise 3x3, two filters a channel",
    inputs: { x: [1, 1, 6, 7, 10], weight: [20, 1, 1, 3, 3] },
    attrs: { groups: 10, padding: around(0, 1) },
  },
  {
    name: "depthwise 1x1 of one pixel",
    inputs: { x: [1, 1, 1, 1, 3], weight: [3, 1, 1, 1, 1] },
    attrs: { groups: 3 },
  },
];
