import { type ConvCall, convNormAct, type EpilogueOptions, type Module, type Tensor, type Weights } from "@vd/tensor";
import { padFilter } from "../unet-2d/padded-conv";

/** Shape of a block. */
export interface ConvBlockConfig {
  cin: number;
  /** Between its convolutions; default cout. */
  inner?: number;
  cout: number;
  /** Convolutions. */
  count: number;
}

const EPS = 1e-5;
const NAMES = { conv: "conv", norm: "bn" };

/** The first layer of a block that sees a picture: its filter has zeros for the channels that `paddedChannels` adds. */
function pictureConv(w: Weights, { cin, cout }: { cin: number; cout: number }): Module<[x: Tensor, call?: ConvCall]> {
  const { weight, bias } = w.foldBatchNorm(NAMES, { dims: [cout, cin, 3, 3], bias: false, eps: EPS });
  let filter: Tensor | undefined;
  return (g, x, call = {}) => {
    filter ??= padFilter(weight);
    const shape = { weight: filter, bias, padding: [0, 0, 1, 1, 1, 1] as const };
    return g.conv({ name: w.at(NAMES.conv).path, x, ...shape, act: "silu", ...call, padding: shape.padding });
  };
}

/**
 * Convolutions of 3×3, each with batch norm and SiLU in the same launch. A bias for each picture, which tells the noise level, is added
 * before the last SiLU. x: [B,F,H,W,cin], or where `isPicture` [B,F,H,W,paddedChannels(cin)] → [B,F,H,W,cout].
 */
export function convBlock(
  w: Weights,
  { cin, cout, inner = cout, count }: ConvBlockConfig,
  isPicture = false,
): Module<[x: Tensor, call?: Pick<EpilogueOptions, "frameBias" | "out">]> {
  const widths = [cin, ...Array<number>(count - 1).fill(inner), cout];
  const layers = widths.slice(1).map((width, i) => {
    const shape = { cin: widths[i]!, cout: width };
    return i === 0 && isPicture
      ? pictureConv(w.at(i), shape)
      : convNormAct(w.at(i), { ...shape, kernel: [1, 3, 3], names: NAMES, eps: EPS });
  });
  return (g, x, call = {}) => {
    const y = layers.reduce((h, layer, i) => layer(g, h, i === layers.length - 1 ? call : {}), x);
    g.tap(w.path, y);
    return y;
  };
}
