import { COUNT, listOf, OBJECT, VdError } from "@vd/kernels-native";
import {
  conv,
  describe,
  embedding,
  type Graph,
  groupNorm,
  linear,
  type Pausable,
  type PausableModule,
  pausable,
  requireLayer,
  SharedChannels,
  type Tensor,
  type Weights,
} from "@vd/tensor";
import { timeProjection } from "../time-projection";
import { type BlockConditions, downBlock, embChannelsOf, middleBlock, type SharedConditions, upBlock } from "./blocks";
import type { Unet2dConditionConfig } from "./config";

/** What the network is told besides the sample, as numbers. */
export interface TimeConditions {
  /** Of each frame: f32[1,F]. */
  timestep: Tensor;
  /** The guidance scale's embedding, [1,1|F,1,guidanceChannels], for models that have it; without it there is nothing added. */
  guidance?: Tensor | undefined;
}

/** Operands of one call. Frames are pictures that know nothing of each other. */
export interface Unet2dConditionCall extends BlockConditions {
  /** [1,F,H,W,inChannels]. */
  sample: Tensor;
}

/** diffusers' UNet2DConditionModel. What follows from timestep and text alone is computed apart, for as many calls as they last. */
export interface Unet2dCondition {
  readonly config: Unet2dConditionConfig;
  /** Channels of what {@link conditionTime} and {@link conditionText} fill. */
  readonly widths: { readonly time: number; readonly text: number };
  /** Fills `out`, [1,F,1,widths.time]. */
  readonly conditionTime: PausableModule<[conditions: TimeConditions, out: Tensor], void>;
  /** Fills `out`, [1,1|F,L,widths.text], from the text encoder's states, [1,1|F,L,D]. */
  readonly conditionText: PausableModule<[states: Tensor, out: Tensor], void>;
  /** → [1,F,H,W,outChannels]. */
  readonly forward: PausableModule<[call: Unet2dConditionCall]>;
}

function checkSample(sample: Tensor, { inChannels }: Unet2dConditionConfig): void {
  const { dims } = sample;
  if (dims.length === 5 && dims[0] === 1 && dims[4] === inChannels) return;
  const expected = `[1,F,H,W,${inChannels}]`;
  throw new VdError({ code: "shape", where: "UNet2DConditionModel] [sample", expected, got: describe(sample) });
}

/** The timestep's embedding after its SiLU. Source: huggingface/diffusers@58eb52c models/embeddings.py TimestepEmbedding. */
function timeEmbedding(w: Weights, config: Unet2dConditionConfig) {
  const { levels, sinesFirst, freqShift, guidanceChannels } = config;
  const width = levels[0]!.channels;
  const scope = w.at("time_embedding");
  const embed = embedding(scope, { cin: width, inner: embChannelsOf(config) });
  const guide =
    guidanceChannels === undefined
      ? undefined
      : linear(scope.at("cond_proj"), { cin: guidanceChannels, cout: width, bias: false });
  return (g: Graph, { timestep, guidance }: TimeConditions) => {
    const waves = timeProjection(g, timestep, { width, sinesFirst, freqShift });
    const guided = guide && guidance ? g.pointwise({ name: scope.path, a: waves, b: guide(g, guidance) }) : waves;
    g.tap("time_embedding", () => embed(g, guided));
    return embed(g, guided, { act: "silu" });
  };
}

/**
 * Makes the network from weights with the checkpoint's own names. Source: huggingface/diffusers@58eb52c
 * unets/unet_2d_condition.py.
 *
 * @throws VdError `weights` for weights that do not fit
 */
export const unet2dCondition = pausable(function* (
  w: Weights,
  config: Unet2dConditionConfig,
): Pausable<Unet2dCondition> {
  requireLayer("unet2dCondition", w, config, { levels: listOf(OBJECT), inChannels: COUNT, outChannels: COUNT });
  const { levels, inChannels, outChannels, normGroups: groups, normEps: eps } = config;
  const shared: SharedConditions = { time: new SharedChannels(), text: new SharedChannels() };
  const parts = { config, shared };
  const channels = levels[0]!.channels;
  const embedTime = timeEmbedding(w, config);
  const convIn = conv(w.at("conv_in"), { cin: inChannels, cout: channels, kernel: [1, 3, 3] });
  const down: ReturnType<typeof downBlock>[] = [];
  for (const level of levels.keys()) {
    down.push(downBlock(w.at("down_blocks").at(level), level, parts));
    yield;
  }
  const middle = middleBlock(w.at("mid_block"), parts);
  const up: ReturnType<typeof upBlock>[] = [];
  for (const position of levels.keys()) {
    up.push(upBlock(w.at("up_blocks").at(position), position, parts));
    yield;
  }
  const normOut = groupNorm(w.at("conv_norm_out"), { channels, groups, eps, act: "silu" });
  const convOut = conv(w.at("conv_out"), { cin: channels, cout: outChannels, kernel: [1, 3, 3] });

  const forward = pausable(function* (g: Graph, { sample, ...conditions }: Unet2dConditionCall): Pausable<Tensor> {
    checkSample(sample, config);
    let h = convIn(g, sample);
    g.tap("conv_in", h);
    const skips = [h];
    for (const block of down) h = yield* block(g, h, conditions, skips);
    h = yield* middle(g, h, conditions);
    for (const block of up) h = yield* block(g, h, conditions, skips);
    return convOut(g, normOut(g, h));
  });

  return {
    config,
    widths: { time: shared.time.width, text: shared.text.width },
    conditionTime: pausable(function* (g: Graph, conditions: TimeConditions, out: Tensor): Pausable<void> {
      yield* shared.time.fill(g, embedTime(g, conditions), out);
    }),
    conditionText: pausable(function* (g: Graph, states: Tensor, out: Tensor): Pausable<void> {
      yield* shared.text.fill(g, states, out);
    }),
    forward,
  };
});
