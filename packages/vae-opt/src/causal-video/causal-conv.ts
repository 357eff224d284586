import {
  type ConvConfig,
  conv,
  type EpilogueOptions,
  frameRange,
  type Graph,
  type Tensor,
  tokens,
  type Weights,
} from "@vd/tensor";
import type { Piece } from "./frame-memory";

/** Shape of a causal convolution; nothing is padded behind the last frame. */
export interface CausalConvConfig extends Pick<ConvConfig, "cin" | "cout" | "kernel" | "stride"> {
  /** Zeros around [height, width]; default: kernel/2 on each side. */
  padding?: [top: number, bottom: number, left: number, right: number];
}

/** What a causal convolution reads: frames that are written where the convolution wants them, behind those that it kept. */
export interface FrameSource {
  /** [1,F,H,W,C]. */
  dims: readonly number[];
  /** Writes the frames to `out`, [1,F,H,W,C]; F + 1 frames where `dropsSecond`. */
  write(g: Graph, out: Tensor): void;
  /** The frames, where they lie in a tensor already. */
  tensor?: Tensor;
  /** At the beginning of a clip `write` gives one frame more, and its second one is left out. */
  dropsSecond?: boolean;
}

/** Call-time operands of a causal convolution. */
export type CausalConvCall = Pick<EpilogueOptions, "residual" | "out">;

/** Records a causal convolution of a piece of a clip. */
export type CausalConv = (g: Graph, source: FrameSource, piece: Piece, call?: CausalConvCall) => Tensor;

/** The source that copies `x`, [1,F,H,W,C]. */
export const copyOf = (x: Tensor): FrameSource => ({
  dims: x.dims,
  tensor: x,
  write: (g, out) => {
    g.copy({ name: `${x.storage.name}.frames`, x: tokens(x), out: tokens(out) });
  },
});

/**
 * A convolution over frames that sees no later ones. Before the clip's first frame lie copies of it; before any other
 * piece's first frame lie the last frames of the piece before, which `piece.memory` keeps: kernel − stride of them.
 * source: [1,F,H,W,cin] → [1,G,H',W',cout], where G is F/stride, at a clip's beginning (F − 1)/stride + 1.
 * Source: ByteDance-Seed/SeedVR models/video_vae_v3/modules/causal_inflation_lib.py InflatedCausalConv3d.
 */
export function causalConv(w: Weights, config: CausalConvConfig): CausalConv {
  const { cin, cout, kernel, stride = [1, 1, 1] } = config;
  const half = (size: number) => Math.floor(size / 2);
  const around = config.padding ?? [half(kernel[1]), half(kernel[1]), half(kernel[2]), half(kernel[2])];
  const convolve = conv(w, { cin, cout, kernel, stride, padding: [0, 0, ...around], flat: false });
  const copies = kernel[0] - 1;
  const kept = kernel[0] - stride[0];
  return (g, source, piece, call) => {
    const [, frames, ...picture] = source.dims as [number, number, number, number, number];
    if (copies === 0 && source.tensor) return convolve(g, source.tensor, call);
    const before = piece.begins ? copies : kept;
    const frameDims = (count: number) => [1, count, ...picture];
    const all = g.empty(frameDims(before + frames));
    if (piece.begins) beginFrames(g, w.path, source, all, before);
    else {
      if (kept > 0) copyFrames(g, w.path, piece.memory(g, w.path, frameDims(kept)), frameRange(all, 0, kept));
      source.write(g, frameRange(all, before, before + frames));
    }
    const y = convolve(g, all, call);
    if (kept > 0 && !piece.ends) {
      const end = before + frames;
      copyFrames(g, w.path, frameRange(all, end - kept, end), piece.memory(g, w.path, frameDims(kept)));
    }
    return y;
  };
}

function copyFrames(g: Graph, path: string, from: Tensor, to: Tensor): void {
  g.copy({ name: `${path}.kept`, x: tokens(from), out: tokens(to) });
}

/** Fills `all` at a clip's beginning: `copies` copies of the first frame, then the frames. A frame too many is written over:
 *  the frames begin one place earlier, and a copy of the first one takes the second one's place. */
function beginFrames(g: Graph, path: string, source: FrameSource, all: Tensor, copies: number): void {
  const first = source.dropsSecond ? copies - 1 : copies;
  source.write(g, frameRange(all, first, all.dims[1]!));
  for (let place = 0; place <= copies; place++)
    if (place !== first) copyFrames(g, path, frameRange(all, first, first + 1), frameRange(all, place, place + 1));
}
