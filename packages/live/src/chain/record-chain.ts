import {
  channelRange,
  elementwise,
  frameRange,
  type Graph,
  type Pausable,
  pixels,
  type Tensor,
  tokens,
} from "@vd/tensor";
import { type KeptTensors, recordNewest, recordVideo, type VideoTensors } from "../diffusion/record-stream";
import type { PlacedTensor } from "../model/frame-memory";
import { preconditioning } from "../model/levels";
import { paddedChannels } from "../models/unet-2d/padded-conv";
import type { UnetChain } from "../models/unet-chain/index";

/** What a frame of the chain works on besides its pictures. */
export interface ChainTensors extends VideoTensors, KeptTensors {
  /** The frame in 8 bits, [1,F,H,W,C]. */
  picture: Pick<PlacedTensor, "tensor">;
  /** Unit noise, the same for all frames, [1,F,H,W,C]. */
  noise: Pick<PlacedTensor, "tensor">;
  /** Weight of the frame before, and the largest difference up to which a pixel is blended, [2]. */
  temporal: Pick<PlacedTensor, "tensor">;
  /** What the network is told of each step's noise level, [1,steps,1,timeWidth]. */
  time: Pick<PlacedTensor, "tensor">;
}

/** Which of the programs is recorded. */
export interface ChainProgram {
  steps: number;
  change: boolean;
  drift: boolean;
}

/** Deviation of pictures, which noise levels are measured by. */
const SIGMA_DATA = 1;

/** Noise levels of so many steps: even, from that of pictures down. */
export const chainSigmas = (steps: number): number[] => Array.from({ length: steps }, (_, i) => 1 - i / steps);

/** What the network is told of a noise level. */
export const chainTimestep = (sigma: number): number => preconditioning(sigma, SIGMA_DATA).timestep;

const inputScale = (sigma: number): number => preconditioning(sigma, SIGMA_DATA).input;

/** Coefficients of a step to a smaller noise level: rows next sample, denoised; columns sample, prediction, noise. */
const eulerRows = (rest: number) => Float32Array.of(rest, 1 - rest, 0, 0, 1, 0);
/** Of the last step, to the blended data: rows next sample, denoised, data; columns sample, prediction, noise, data. */
const DATA_ROWS = Float32Array.of(0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0);

/** The previous frame in the type of activations. */
function typed(g: Graph, { tensor }: VideoTensors["previous"]): Tensor {
  if (g.dtype === tensor.dtype) return tensor;
  const y = g.copy({ name: "context.previous", x: tokens(tensor), out: g.empty(tokens(tensor).dims) });
  return pixels(y, tensor.dims[2]!, tensor.dims[3]!);
}

/**
 * Records one whole frame: pictures in, noise, each step's call of the network and its step in one launch, which blends the last one's data with
 * the frame before, and 8 bits out. The network predicts clean pictures; steps are Euler's along x' = (x − D) / σ, of
 * https://arxiv.org/abs/2206.00364.
 */
export function* recordChainFrame(
  g: Graph,
  network: UnetChain,
  memory: ChainTensors,
  program: ChainProgram,
): Pausable<void> {
  const { noise, previous, temporal, time, picture } = memory;
  const { dims } = previous.tensor;
  const channels = dims[4]!;
  const sigmas = chainSigmas(program.steps);
  const clean = tokens(recordVideo(g, memory));
  const x = g.empty(dims, "f32");
  elementwise(g, (e) => e.add(e.mul(tokens(noise.tensor), sigmas[0]!), clean), {
    name: "sampler.noisy",
    out: tokens(x),
  });
  const sample = g.state("sample", [...dims.slice(0, 4), paddedChannels(channels)]);
  const input = channelRange(sample, 0, channels);
  elementwise(g, (e) => e.mul(tokens(x), inputScale(sigmas[0]!)), { name: "sampler.input", out: tokens(input) });
  const context = typed(g, previous);
  for (const [i, sigma] of sigmas.entries()) {
    const told = frameRange(time.tensor, i, i + 1);
    const prediction = yield* network.forward.inPieces(g, { sample, previous: context, time: told });
    const next = sigmas[i + 1];
    const step = { name: "sampler.step", prediction, x, out: x };
    if (next === undefined)
      g.samplerStep({
        ...{ ...step, previous: previous.tensor, blend: temporal.tensor },
        coefficients: g.constant(DATA_ROWS, [3, 4]),
      });
    else
      g.samplerStep({
        ...{ ...step, coefficients: g.constant(eulerRows(next / sigma), [2, 3]), outputs: { input } },
        inputScale: g.constant(Float32Array.of(inputScale(next)), [1]),
      });
  }
  g.framesOut({ name: "frame.levels", x, out: picture.tensor });
  recordNewest(g, x, memory, program);
  yield;
}
