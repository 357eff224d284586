import {
  conv,
  type Graph,
  groupNorm,
  type Module,
  type Pausable,
  type PausableModule,
  pausable,
  resBlock,
  type Tensor,
  type Weights,
} from "@vd/tensor";
import { imageAttention } from "./attention";
import type { VaeConfig } from "./config";

const EPS = 1e-6;

/** What differs between the autoencoders that have this encoder. */
export interface EncoderOptions {
  /** Whether a 1×1 convolution stands behind it; default true. */
  quantConv?: boolean;
}

/** Calls modules one after the other, pausing after each. */
export function* inSequence(g: Graph, modules: readonly Module[], x: Tensor): Pausable<Tensor> {
  let value = x;
  for (const module of modules) {
    value = module(g, value);
    yield;
  }
  return value;
}

/** Keeps a module's result under its checkpoint path. */
export const tapped =
  (path: string, module: Module): Module =>
  (g, x) => {
    const y = module(g, x);
    g.tap(path, y);
    return y;
  };

/** The same modules, the last one's result kept under `path`. */
const endTapped = (path: string, modules: readonly Module[]): Module[] => [
  ...modules.slice(0, -1),
  tapped(path, modules[modules.length - 1]!),
];

/** The modules of a level; the result of the last one is the level's. */
function downBlock(w: Weights, level: number, config: VaeConfig): Module[] {
  const { blockOutChannels, encoderAttention, layersPerBlock } = config;
  const cin = blockOutChannels[Math.max(level - 1, 0)]!;
  const cout = blockOutChannels[level]!;
  const modules: Module[] = [];
  for (let i = 0; i < layersPerBlock; i++) {
    const scope = w.at("resnets").at(i);
    modules.push(tapped(scope.path, resBlock(scope, { cin: i === 0 ? cin : cout, cout, eps: EPS })));
    if (encoderAttention[level]) modules.push(imageAttention(w.at("attentions").at(i), cout));
  }
  if (level < blockOutChannels.length - 1) {
    const scope = w.at("downsamplers.0");
    // Zeros at the right and bottom only.
    const down = conv(scope.at("conv"), {
      cin: cout,
      cout,
      kernel: [1, 3, 3],
      stride: [1, 2, 2],
      padding: [0, 0, 0, 1, 0, 1],
    });
    modules.push(tapped(scope.path, down));
  }
  return endTapped(w.path, modules);
}

/** The middle of an encoder, or of a decoder of pictures: residual block, attention, residual block. */
export function middle(w: Weights, channels: number): Module[] {
  const [first, second] = [0, 1].map((i) => {
    const scope = w.at("resnets").at(i);
    return tapped(scope.path, resBlock(scope, { cin: channels, cout: channels, eps: EPS }));
  });
  const attention = imageAttention(w.at("attentions.0"), channels);
  return endTapped(w.path, [first!, attention, second!]);
}

/** Pictures to moments: means, then log-variances. x: [N,1,H,W,3] → [N,1,H/f,W/f,2·latentChannels].
 *  Source: huggingface/diffusers@58eb52c models/autoencoders/vae.py Encoder. */
export function encoder(w: Weights, config: VaeConfig, { quantConv = true }: EncoderOptions = {}): PausableModule {
  const { blockOutChannels, inChannels, latentChannels } = config;
  const scope = w.at("encoder");
  const first = blockOutChannels[0]!;
  const top = blockOutChannels[blockOutChannels.length - 1]!;
  const convIn = tapped(
    scope.at("conv_in").path,
    conv(scope.at("conv_in"), { cin: inChannels, cout: first, kernel: [1, 3, 3] }),
  );
  const down = blockOutChannels.flatMap((_, level) => downBlock(scope.at("down_blocks").at(level), level, config));
  const mid = middle(scope.at("mid_block"), top);
  const norm = groupNorm(scope.at("conv_norm_out"), { channels: top, eps: EPS, act: "silu" });
  const convOut = conv(scope.at("conv_out"), { cin: top, cout: 2 * latentChannels, kernel: [1, 3, 3] });
  const moments = 2 * latentChannels;
  const quantiseScope = w.at("quant_conv");
  const quantise = quantConv
    ? tapped(quantiseScope.path, conv(quantiseScope, { cin: moments, cout: moments, kernel: [1, 1, 1] }))
    : undefined;
  return pausable(function* (g: Graph, x: Tensor) {
    const h = yield* inSequence(g, [convIn, ...down, ...mid], x);
    g.tap(scope.at("conv_norm_out").path, () => norm(g, h, { act: "none" }));
    const y = convOut(g, norm(g, h));
    g.tap(scope.at("conv_out").path, y);
    g.tap(scope.path, y);
    return quantise ? quantise(g, y) : y;
  });
}
