import { VdError } from "@vd/kernels-native";
import { openTiny } from "@vd/vae-opt";
import { tinyCodec } from "./codec";
import type { PictureCodec } from "./types";

/** A tiny autoencoder's two halves. @throws VdError `weights` for a file of one half */
export async function openTinyCodec(source: string): Promise<PictureCodec> {
  const { encoder, decoder } = await openTiny(source);
  if (!encoder || !decoder) {
    const expected = "a tiny autoencoder with both halves";
    throw new VdError({ code: "weights", where: source, expected, got: encoder ? "an encoder" : "a decoder" });
  }
  return tinyCodec(encoder, decoder);
}
