import { COUNT, requireArgument, requireFields, wholeFrom } from "@vd/kernels-native";
import { GRAPH, type Graph, type Pausable, randomWeights } from "@vd/tensor";
import { pictureInfo } from "../diffusion/model-info";
import type { LiveModelInfo } from "../model/types";
import { REFERENCE_UNET_CHAIN, type UnetChain, unetChain } from "../models/unet-chain/index";
import { type Float8Options, recordInFloat8 } from "./float8";
import { recordChainFrame } from "./record-chain";

/** Side of the pictures that the reference is measured with. */
export const CHAIN_SIDE = 64;

/** Returns the reference with random weights, which are made as they are needed. */
export const randomChain = (seed: number): UnetChain => unetChain(randomWeights(seed), REFERENCE_UNET_CHAIN);

/** What a session tells of the reference. */
export const chainInfo = (): LiveModelInfo => pictureInfo("random unet-chain", [CHAIN_SIDE, CHAIN_SIDE], 1);

/** Records one frame of the reference for several pictures at once: one step, and what it is told of the noise level given. */
export function* recordRandomChain(
  g: Graph,
  options: { seed: number; pictures: number; float8?: boolean | Float8Options },
): Pausable<void> {
  requireArgument("recordRandomChain g", g, GRAPH);
  requireFields("recordRandomChain", options, { seed: wholeFrom(0), pictures: COUNT });
  const { seed, pictures, float8 = false } = options;
  if (float8) recordInFloat8(g, float8 === true ? {} : float8);
  const network = randomChain(seed);
  const dims = [1, pictures, CHAIN_SIDE, CHAIN_SIDE, network.config.channels];
  const picture = { tensor: g.empty(dims, "u8") };
  const newest = { tensor: g.state("newest", dims, "f32") };
  const memory = {
    ...{
      picture,
      newest,
      previous: newest,
      noise: { tensor: g.input("noise", dims, "f32") },
    },
    video: { tensor: g.input("video", dims, "i8") },
    blend: { tensor: g.input("blend", [1, 1, 1, 1], "f32") },
    temporal: { tensor: g.input("temporal", [2], "f32") },
    time: { tensor: g.input("time", [1, 1, 1, network.timeWidth]) },
  };
  yield* recordChainFrame(g, network, memory, { steps: 1, change: false, drift: false });
  g.output("picture", picture.tensor);
}
