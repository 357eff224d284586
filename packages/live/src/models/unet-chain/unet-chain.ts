import { VdError } from "@vd/kernels-native";
import {
  channelRange,
  describe,
  type Graph,
  type Pausable,
  type PausableModule,
  pausable,
  requireLayer,
  SharedChannels,
  type Tensor,
  type Weights,
} from "@vd/tensor";
import { timeProjection } from "../time-projection";
import { paddedChannels } from "../unet-2d/padded-conv";
import { checkUnetChainConfig, type UnetChainConfig, unetChainStep } from "./config";
import { temporalPart } from "./temporal";
import { chainedUnet } from "./unet";

/** Call-time operands of the network: pictures lie beside each other as frames. */
export interface UnetChainCall {
  /** Noisy pictures, [1,F,H,W,paddedChannels(channels)]; what lies behind the first channels is any finite number. */
  sample: Tensor;
  /** The finished pictures of the frame before, [1,F,H,W,channels], in the type of activations. */
  previous: Tensor;
  /** Of {@link UnetChain.conditionTime}. */
  time: Tensor;
}

/** The network. */
export interface UnetChain {
  readonly config: UnetChainConfig;
  /** Channels of what all blocks together are told of the noise level. */
  readonly timeWidth: number;
  /** Fills `out`, [1,1|F,1,timeWidth], from timesteps f32[1,1|F]. Rows that do not change from frame to frame need it once. */
  readonly conditionTime: PausableModule<[timestep: Tensor, out: Tensor], void>;
  /** → the clean pictures, [1,F,H,W,channels]. */
  readonly forward: PausableModule<[call: UnetChainCall]>;
}

function checkCall({ sample, previous }: UnetChainCall, config: UnetChainConfig): void {
  const step = unetChainStep(config);
  const [b, f, height, width, channels] = sample.dims;
  const isSample =
    sample.dims.length === 5 && b === 1 && channels === paddedChannels(config.channels) && height! % step === 0;
  if (!isSample || width! % step !== 0) {
    const expected = `[1,F,H,W,${paddedChannels(config.channels)}] with height and width in multiples of ${step}`;
    throw new VdError({ code: "shape", where: "unetChain] [sample", expected, got: describe(sample) });
  }
  const dims = [1, f, height, width, config.channels];
  if (previous.dims.join() === dims.join() && previous.dtype === sample.dtype) return;
  const expected = describe({ dtype: sample.dtype, dims: dims as number[] });
  throw new VdError({ code: "shape", where: "unetChain] [previous", expected, got: describe(previous) });
}

/**
 * Makes the network from weights by their names, such as `unets.0.down.1.conv.0.bn.weight`.
 *
 * @throws VdError `attr` for a configuration that does not fit, `weights` for weights that do not
 * @example
 * ```ts
 * import { REFERENCE_UNET_CHAIN, unetChain } from "@vd/live";
 * import { layoutGraph, randomWeights } from "@vd/tensor";
 *
 * const net = unetChain(randomWeights(0), REFERENCE_UNET_CHAIN);
 * const { cost } = layoutGraph((g) => {
 *   const [sample, previous] = [g.input("sample", [1, 2, 64, 64, 16]), g.input("previous", [1, 2, 64, 64, 3])];
 *   g.output("y", net.forward(g, { sample, previous, time: g.input("time", [1, 1, 1, net.timeWidth]) }));
 * });
 * console.log(cost.flops);
 * ```
 */
export function unetChain(w: Weights, config: UnetChainConfig): UnetChain {
  checkUnetChainConfig(config);
  requireLayer("unetChain", w, config, {});
  const { baseChannels, channels, timeChannels } = config;
  const shared = new SharedChannels<Tensor>();
  const unets = baseChannels.map((base, i) => chainedUnet(w.at("unets").at(i), { config, base, time: shared }));
  const temporal = temporalPart(w.at("temporal"), config);

  const conditionTime = pausable(function* (g: Graph, timestep: Tensor, out: Tensor): Pausable<void> {
    const waves = timeProjection(g, timestep, { width: timeChannels, sinesFirst: true, freqShift: 0 });
    const told = g.pointwise({ name: "time_act", a: waves, act: "silu" });
    yield* shared.fill(g, told, out);
  });

  const forward = pausable(function* (g: Graph, call: UnetChainCall): Pausable<Tensor> {
    checkCall(call, config);
    let x = call.sample;
    for (const [i, unet] of unets.entries()) {
      // The next one reads what this one leaves where there is room for whole groups of channels.
      const between = `unets.${i}.picture`;
      const place = () => g.states.get(between) ?? g.state(between, call.sample.dims);
      const next = i < unets.length - 1 ? place() : undefined;
      const out = next && channelRange(next, 0, channels);
      const y = yield* unet(g, { sample: x, time: call.time, out });
      x = next ?? y;
    }
    return temporal(g, x, call.previous);
  });

  return { config, timeWidth: shared.width, conditionTime, forward };
}
