import { COUNT } from "@vd/kernels-native";
import type { Graph } from "../graph";
import type { Tensor } from "../tensor";
import type { Weights } from "../weights/weights";
import { conv } from "./conv";
import { requireLayer } from "./layer";
import type { Module } from "./module";

/** Grows height and width to those of `target`, nearest, and convolves 3×3: where the sizes double in one pass. x: [B,F,H,W,C] →
 *  [B,F,H',W',C]. Source: huggingface/diffusers@58eb52c models/upsampling.py Upsample2D with `output_size`. */
export function upsampler(w: Weights, channels: number): Module<[x: Tensor, target: Tensor]> {
  requireLayer("upsampler", w, { channels }, { channels: COUNT });
  const shape = { cin: channels, cout: channels, kernel: [1, 3, 3] as [number, number, number] };
  const doubled = conv(w.at("conv"), { ...shape, upsample: true });
  const plain = conv(w.at("conv"), shape);
  const grow = (g: Graph, x: Tensor, height: number, width: number) =>
    height === 2 * x.dims[2]! && width === 2 * x.dims[3]!
      ? doubled(g, x)
      : plain(g, g.resize({ name: `${w.path}.nearest`, x, height, width }));
  return (g, x, target) => {
    const y = grow(g, x, target.dims[2]!, target.dims[3]!);
    g.tap(w.path, y);
    return y;
  };
}
