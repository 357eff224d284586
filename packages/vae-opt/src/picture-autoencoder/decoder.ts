import {
  conv,
  type Graph,
  groupNorm,
  type Module,
  type PausableModule,
  pausable,
  resBlock,
  type Tensor,
  type Weights,
} from "@vd/tensor";
import { inSequence, middle, tapped } from "../temporal-decoder/encoder";
import type { PictureVaeConfig } from "./config";

const EPS = 1e-6;

/** The modules of a level, from the latents outwards. */
function upBlock(w: Weights, position: number, config: PictureVaeConfig): Module[] {
  const reversed = [...config.blockOutChannels].reverse();
  const cout = reversed[position]!;
  const first = reversed[Math.max(position - 1, 0)]!;
  const modules = Array.from({ length: config.layersPerBlock + 1 }, (_, i): Module => {
    const scope = w.at("resnets").at(i);
    return tapped(scope.path, resBlock(scope, { cin: i === 0 ? first : cout, cout, eps: EPS }));
  });
  if (position < reversed.length - 1) {
    const scope = w.at("upsamplers.0");
    const grown = conv(scope.at("conv"), { cin: cout, cout, kernel: [1, 3, 3], upsample: true });
    modules.push(tapped(scope.path, (g, x) => grown(g, x)));
  }
  return [...modules.slice(0, -1), tapped(w.path, modules[modules.length - 1]!)];
}

/** Latents to pictures. z: [N,F,h,w,latentChannels] as the encoder gives them → [N,F,H,W,3] in about [-1, 1].
 *  Source: huggingface/diffusers@58eb52c models/autoencoders/vae.py Decoder. */
export function pictureDecoder(w: Weights, config: PictureVaeConfig): PausableModule {
  const { blockOutChannels, latentChannels, outChannels, postQuantConv } = config;
  const scope = w.at("decoder");
  const top = blockOutChannels[blockOutChannels.length - 1]!;
  const last = blockOutChannels[0]!;
  const one = { cin: latentChannels, cout: latentChannels, kernel: [1, 1, 1] as [number, number, number] };
  const before = postQuantConv ? [conv(w.at("post_quant_conv"), one)] : [];
  const convIn = conv(scope.at("conv_in"), { cin: latentChannels, cout: top, kernel: [1, 3, 3] });
  const mid = middle(scope.at("mid_block"), top);
  const up = blockOutChannels.flatMap((_, position) => upBlock(scope.at("up_blocks").at(position), position, config));
  const norm = groupNorm(scope.at("conv_norm_out"), { channels: last, eps: EPS, act: "silu" });
  const convOut = conv(scope.at("conv_out"), { cin: last, cout: outChannels, kernel: [1, 3, 3] });
  const first = [...before, convIn].map(
    (module): Module =>
      (g, x) =>
        module(g, x),
  );
  return pausable(function* (g: Graph, z: Tensor) {
    const h = yield* inSequence(g, [...first, ...mid, ...up], z);
    return convOut(g, norm(g, h));
  });
}
