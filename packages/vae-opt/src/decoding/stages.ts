import {
  COUNT,
  type Device,
  type DType,
  FINITE,
  FLAG,
  FUNCTION,
  having,
  NUMBER,
  type OpId,
  optional,
  requireArgument,
  requireFields,
  TEXT,
} from "@vd/kernels-native";
import {
  type CallOptions,
  channelRange,
  elementBytes,
  type Graph,
  NUM_GROUPS,
  type Pausable,
  type Plan,
  type RecordCall,
  type Recording,
  type RewriteCall,
  type Tensor,
} from "@vd/tensor";
import type { DecoderBlock } from "../temporal-decoder/decoder";
import type { TemporalVae } from "../temporal-decoder/vae";
import { DTYPE } from "../wanted";
import type { MapSize } from "./host-map";

/** A part of a decode or encode that is recorded, laid out and run on its own. */
export interface VaeStage {
  name: string;
  /** The name and what else tells this stage from others of the same model. */
  key: string;
  /** Element type of activations. */
  dtype: DType;
  /** Records the rows, pausing between the model's blocks. */
  build: Recording;
}

/** Loads a stage, hands its plan to `body`, and frees it afterwards. */
export type StageRunner = <T>(stage: VaeStage, body: (plan: Plan) => Promise<T>) => Promise<T>;

/** What decides the shapes of a decode. */
export interface DecodeShape {
  numFrames: number;
  /** Of the latents, in their pixels. */
  height: number;
  width: number;
  dtype: DType;
  /** Latents are multiplied by it first. Default: one by the configuration's scaling factor. */
  latentScale?: number | undefined;
  /** How calls are recorded, e.g. without fusions. Default: as the model makes them. */
  rewrite?: RewriteCall | undefined;
  /** Bytes that layers of single frames had better work in at a time, as `spatialBytesOf` says for a device. Default: no limit. */
  spatialBytes?: number | undefined;
  /** Whether `rewrite` has norms inside convolutions, which leaves room for longer parts. Default: false. */
  fusedNorm?: boolean | undefined;
}

const VAE = having("an autoencoder of temporalVae", ["blocks", "end", "config"]);
const SHAPE = {
  ...{ numFrames: COUNT, height: COUNT, width: COUNT, dtype: DTYPE },
  ...{
    latentScale: optional(FINITE),
    rewrite: optional(FUNCTION),
    spatialBytes: optional(NUMBER),
    fusedNorm: optional(FLAG),
  },
};

/** Refuses what is no autoencoder, or no shape of a decode. @throws VdError `attr` */
export function requireDecode(where: string, vae: unknown, shape: unknown): void {
  requireArgument(`${where} vae`, vae, VAE);
  requireFields(`${where} shape`, shape, SHAPE);
}

/** What a processor's last cache holds beside what others keep there. Two cores of a Zen 5, tiny-svd, 14 frames of 128 × 128, a decode: 347 ms
 *  with all frames at once, 316 with 4 to 16 MiB, 327 with 32. */
const CACHED_BYTES = 16 << 20;

/** Returns the bytes that a decoder's layers of single frames had better work in at a time on a device; undefined for no limit.
 *  @throws VdError `attr` for what is no device */
export function spatialBytesOf(device: Pick<Device, "kind">): number | undefined {
  requireFields("spatialBytesOf device", device, { kind: TEXT });
  return device.kind === "cpu" ? CACHED_BYTES : undefined;
}

/** Makes a recording with the shape's own way of recording calls. */
export function recording({ rewrite }: DecodeShape, build: (g: Graph) => Pausable<void>): Recording {
  return function* (g) {
    if (rewrite) g.rewriteCalls(rewrite);
    yield* build(g);
  };
}

/** Records the latents' planes as pixels, scaled as the decoder takes them. */
export function* latentPixels(g: Graph, vae: TemporalVae, shape: DecodeShape): Pausable<Tensor> {
  const { latentChannels, scalingFactor } = vae.config;
  const { numFrames, height, width, latentScale = 1 / scalingFactor } = shape;
  const x = g.input("latents", [1, numFrames, latentChannels, height, width], "f32");
  // A GPU's copy engine reads pixels of whole 16 bytes.
  const spacing = Math.ceil((latentChannels * elementBytes(g.dtype)) / 16) * (16 / elementBytes(g.dtype));
  const out = channelRange(g.empty([1, numFrames, height, width, spacing]), 0, latentChannels);
  const z = g.layoutIn({ name: "latents", x, scale: Math.fround(latentScale), out });
  yield;
  return z;
}

/** Makes a clip's decoded frames readable, as they are and in 8 bits. */
export function outputFrames(g: Graph, frames: Tensor): void {
  g.output("frames", frames);
  g.output("levels", g.framesOut({ name: "levels", x: frames }));
}

/** Returns the stage that decodes a clip at once or over some frames at a time. `latents` f32[1,F,C,h,w] → `frames`
 *  [1,F,H,W,3] in about [-1,1], and `levels`, the same in 8 bits. @throws VdError `attr` for what is no decode */
export function decodeStage(vae: TemporalVae, shape: DecodeShape, chunkFrames: number | undefined): VaeStage {
  requireDecode("decodeStage", vae, shape);
  requireArgument("decodeStage chunkFrames", chunkFrames, optional(COUNT));
  return {
    name: "decode",
    key: `decode ${shape.numFrames} ${chunkFrames}`,
    dtype: shape.dtype,
    build: recording(shape, function* (g) {
      const { spatialBytes, fusedNorm } = shape;
      const all = { chunkFrames: chunkFrames ?? shape.numFrames, spatialBytes, fusedNorm };
      outputFrames(g, yield* vae.decode.inPieces(g, yield* latentPixels(g, vae, shape), all));
    }),
  };
}

/** Returns the stage that computes the first blocks of a tiled decode. `latents` f32[1,F,C,h,w] → `y` [1,F,h',w',C']. */
export function headStage(
  vae: TemporalVae,
  shape: DecodeShape,
  head: { numBlocks: number; chunkFrames: number },
): VaeStage {
  return {
    name: "decode",
    key: `decode head ${shape.numFrames} ${head.numBlocks} ${head.chunkFrames}`,
    dtype: shape.dtype,
    build: recording(shape, function* (g) {
      const options = { ...head, spatialBytes: shape.spatialBytes, fusedNorm: shape.fusedNorm };
      g.output("y", yield* vae.decodeHead.inPieces(g, yield* latentPixels(g, vae, shape), options));
    }),
  };
}

/** A half of a block, or of what comes behind the last block, over a part of its map. */
export interface BlockPart {
  /** Number of the block; as many as there are for the end. */
  block: number;
  /** The map that the half takes. */
  map: MapSize;
  /** Frames of the part for the first half, rows for the second. */
  size: number;
}

const nameOf = ({ decoder }: { decoder: DecoderBlock | undefined }) => decoder?.name ?? "decoder.end";

/** Returns the first half of a block over `size` frames. `x` [1,f,h,w,C] → `y` [1,f,H,W,C'], and `statistics` [1,1,groups,2]
 *  of y for the second half. */
export function spatialStage(vae: TemporalVae, shape: DecodeShape, { block, map, size }: BlockPart): VaeStage {
  const decoder = vae.blocks[block];
  return {
    name: "decode tiles",
    key: `decode spatial ${block} ${size}`,
    dtype: shape.dtype,
    build: recording(shape, function* (g) {
      const x = g.input("x", [1, size, map.height, map.width, map.channels]);
      const y = (decoder ?? vae.end).spatial(g, x);
      yield;
      g.output("y", y);
      if (!decoder) return;
      const name = `${nameOf({ decoder })}.statistics`;
      const options = { name, x: y, groups: NUM_GROUPS, eps: decoder.temporalEps, joinFrames: true };
      g.output("statistics", g.groupNormStats(options));
    }),
  };
}

/** Names of the inputs with statistics of a second half's norms over the whole clip, [1,1,groups,2], in their order. */
export const STATISTICS_INPUTS = ["statistics 0", "statistics 1"] as const;

/** Gives norms the statistics of the whole clip. */
function withGivenStatistics(g: Graph): void {
  let next = 0;
  g.rewriteCalls((op: OpId, call: CallOptions, record: RecordCall) => {
    if (op !== "group_norm") return record(op, call);
    const stats = g.input(STATISTICS_INPUTS[next++]!, [1, 1, NUM_GROUPS, 2], "f32");
    return record(op, { ...call, stats } as CallOptions);
  });
}

/** Returns the second half of a block over `size` rows. `x` [1,F,h,W,C] and what norms need → `y` of the same shape. */
export function temporalStage(vae: TemporalVae, shape: DecodeShape, { block, map, size }: BlockPart): VaeStage {
  const decoder = vae.blocks[block];
  return {
    name: "decode tiles",
    key: `decode temporal ${block} ${size}`,
    dtype: shape.dtype,
    build: recording(shape, function* (g) {
      const x = g.input("x", [1, map.numFrames, size, map.width, map.channels]);
      if (!decoder) return outputFrames(g, vae.end.temporal(g, x));
      withGivenStatistics(g);
      g.output("y", yield* decoder.temporal.inPieces(g, x));
    }),
  };
}

/** Returns the beginning of a block's second half over `size` rows, up to its second norm. `x` [1,F,h,W,C] and what the first
 *  norm needs → `statistics` [1,1,groups,2] of what the second norm gets. */
export function measuringStage(vae: TemporalVae, shape: DecodeShape, { block, map, size }: BlockPart): VaeStage {
  const decoder = vae.blocks[block]!;
  return {
    name: "decode tiles",
    key: `decode measuring ${block} ${size}`,
    dtype: shape.dtype,
    build: recording(shape, function* (g) {
      const x = g.input("x", [1, map.numFrames, size, map.width, map.channels]);
      withGivenStatistics(g);
      let numRows = 0;
      let norms = 0;
      g.rewriteCalls((op, call, record) => {
        if (op !== "group_norm" || ++norms < 2) return record(op, call);
        const { x: input, groups, eps } = call as CallOptions & { x: Tensor; groups: number; eps: number };
        const measured = { name: `${call.name}.statistics`, x: input, groups, eps, joinFrames: true };
        g.output("statistics", record("group_norm_stats", measured as CallOptions));
        numRows = g.rows.length;
        return record(op, call);
      });
      yield* decoder.temporal.inPieces(g, x);
      g.rows.length = numRows; // What comes behind the measured norm is not wanted.
      g.inputs.delete(STATISTICS_INPUTS[1]);
    }),
  };
}
