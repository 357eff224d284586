import { channelRange, elementwise, type Graph, type Pausable, pixels, type Tensor, tokens } from "@vd/tensor";
import { type PictureVae, spatialFactor, type TinyHalf, tinyDecoder, tinyEncoder } from "@vd/vae-opt";
import type { PictureCodec } from "./types";

/** AutoencoderKL as a codec: the most likely latents, shifted and scaled. */
export function fullCodec({ config, encode, decode }: PictureVae): PictureCodec {
  const { latentChannels, scalingFactor, shiftFactor } = config;
  const shaped = (x: Tensor, y: Tensor) => pixels(y, x.dims[2]!, x.dims[3]!);
  return {
    factor: spatialFactor(config),
    latentChannels,
    *encode(g: Graph, x: Tensor): Pausable<Tensor> {
      const means = channelRange(yield* encode.inPieces(g, x), 0, latentChannels);
      const scaled = elementwise(g, (e) => e.mul(e.sub(tokens(means), shiftFactor), scalingFactor), {
        name: "vae.scale",
      });
      return shaped(means, scaled);
    },
    *decode(g: Graph, z: Tensor): Pausable<Tensor> {
      const plain = elementwise(g, (e) => e.add(e.mul(tokens(z), 1 / scalingFactor), shiftFactor), {
        name: "vae.unscale",
      });
      return yield* decode.inPieces(g, shaped(z, plain));
    },
  };
}

/** AutoencoderTiny as a codec: its latents are scaled already. */
export function tinyCodec(encoder: TinyHalf, decoder: TinyHalf): PictureCodec {
  const encode = tinyEncoder(encoder.weights, encoder.layers);
  const decode = tinyDecoder(decoder.weights, decoder.layers);
  return {
    factor: 2 ** decoder.layers.filter(({ kind }) => kind === "resample").length,
    latentChannels: decoder.layers[0]!.cin,
    encode: (g, x) => encode.inPieces(g, x),
    decode: (g, z) => decode.inPieces(g, z),
  };
}
