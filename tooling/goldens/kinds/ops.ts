import { openDevice } from "@vd/kernels-native";
import { Eager } from "@vd/tensor";
import { exact } from "../compare";
import { activationType, type Fixture, type GoldenKind, type TensorCheck } from "../kind";
import { type Limits, withinStated } from "../limits";
import { convolution, convolutionWithBatchNorm } from "../ops/convolutions";
import { activation, gatedLinear, groupNormalisation, layerNormalisation } from "../ops/norms";
import { OpCase, type OpResult } from "../ops/op-case";
import { depthToSpace, resizing, spaceToDepth, timestepEmbedding } from "../ops/resampling";

/** How to compute a case, by the first part of its name. */
const FAMILIES: Readonly<Record<string, (current: OpCase) => Promise<OpResult>>> = {
  conv1d: convolution,
  conv2d: convolution,
  conv3d: convolution,
  conv_bn: convolutionWithBatchNorm,
  conv_bn_silu: convolutionWithBatchNorm,
  groupnorm: groupNormalisation,
  groupnorm_silu: groupNormalisation,
  layernorm: layerNormalisation,
  geglu: gatedLinear,
  act: activation,
  nearest: resizing,
  bilinear: resizing,
  bicubic: resizing,
  depth_to_space: depthToSpace,
  space_to_depth: spaceToDepth,
  timestep_embedding: timestepEmbedding,
};

async function check(current: OpCase, fixture: Fixture, limits: Limits): Promise<TensorCheck> {
  const name = `out.${current.name}`;
  const compute = FAMILIES[current.family];
  if (!compute) return { name, metric: "exact", error: Number.NaN, tolerance: 0, ok: false, note: "unknown case" };
  const { values, exact: bitByBit } = await compute(current);
  const golden = fixture.float64(name);
  return bitByBit ? exact(name, values, golden) : withinStated(name, current.name, values, golden, limits);
}

/** Single operations with their parameters in the case's name, description and shapes. */
export const opsKind: GoldenKind = {
  kind: "ops",
  // Without float32's the fixture would be broken: that fails.
  cannotRun: ({ json }, { dtype }) =>
    dtype === "float32" || json.tolerance[dtype] ? undefined : `it states no tolerance for ${dtype}`,
  async *run(fixture, context) {
    const eager = new Eager(openDevice(context.device));
    const limits: Limits = fixture.json.tolerance[context.dtype] ?? {};
    for (const [name, text] of Object.entries(fixture.json.cases as Record<string, string>))
      yield await check(new OpCase(fixture, eager, activationType(context), name, text), fixture, limits);
  },
};
