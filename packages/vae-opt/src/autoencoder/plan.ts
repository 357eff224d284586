import { VdError } from "@vd/kernels-native";
import { inBinaryUnits } from "../binary-units";
import { chooseDecodePieces } from "../decoding/choose-pieces";
import { blockMaps, counted, type DecodePieces, describePieces, hostBytes } from "../decoding/pieces";
import { decodeStage } from "../decoding/stages";
import type { DecodeRequest } from "./decode";

/** What a plan is made for. */
export interface DecodePlanRequest {
  /** Most bytes that a stage may take on the device, weights included. Default: what the device has left. */
  maxBytes?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** How a clip will be decoded. */
export interface PlannedDecode {
  pieces: DecodePieces;
  /** Bytes on the device of the stage that takes most: activations, inputs and outputs, weights. Kernels may take up to
   *  256 MiB of working memory more. */
  peakBytes: number;
  /** Bytes of feature maps in host memory, for a decode in tiles. */
  hostBytes: number;
  /** What a decode of all frames at once would take on the device. */
  wholeBytes: number;
  /** All of it as a sentence. */
  message: string;
}

/**
 * Chooses the pieces of a decode within a number of bytes.
 *
 * @throws VdError `memory` where the smallest take more
 */
export async function choosePieces({ vae, shape, runs }: DecodeRequest, budgetBytes: number): Promise<PlannedDecode> {
  const { bytesOf } = runs;
  const { pieces, bytes, fits } = await chooseDecodePieces(vae, shape, { budgetBytes, bytesOf });
  const { numFrames, width, height } = shape;
  const grown = blockMaps(vae, shape).at(-1)!.made;
  if (!fits) {
    const expected = `a decode that fits into ${inBinaryUnits(budgetBytes)}`;
    const got = `${inBinaryUnits(bytes)} for its smallest pieces`;
    throw new VdError({
      code: "memory",
      where: "plan",
      expected,
      got,
      hint: "Give more memory, or decode smaller pictures.",
    });
  }
  const wholeBytes = await bytesOf(decodeStage(vae, shape, undefined));
  const onHost = pieces.tiles ? hostBytes(blockMaps(vae, shape), pieces.tiles) : 0;
  const message =
    `${counted(numFrames, "frame")} of ${grown.width}×${grown.height} (latents ${width}×${height}) ` +
    `${numFrames === 1 ? "is" : "are"} decoded ` +
    `${describePieces(pieces)}: ${inBinaryUnits(bytes)} on the device` +
    `${onHost > 0 ? ` and ${inBinaryUnits(onHost)} in host memory` : ""}, of ${inBinaryUnits(wholeBytes)} for all at once.`;
  return { pieces, peakBytes: bytes, hostBytes: onHost, wholeBytes, message };
}
