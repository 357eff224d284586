// @vd/vae-opt: SeedVR2's causal video autoencoder on a clip that is never in memory as a whole. With a checkpoint:
//   node examples/causal-video.mjs ema_vae_fp16.safetensors
import { CausalVideoAutoencoder, SEEDVR2_VAE_CONFIG } from "@vd/vae-opt";

const path = process.argv.slice(2).find((word) => word.endsWith(".safetensors"));
const small = { ...SEEDVR2_VAE_CONFIG, blockOutChannels: [32, 32, 32, 32], layersPerBlock: 1 };
const vae = path
  ? await CausalVideoAutoencoder.fromPretrained(path)
  : await CausalVideoAutoencoder.withRandomWeights({ config: small });

const side = 64;
const { encode, decode } = await vae.plan({ height: side, width: side });
console.log("planned:", encode.bytes, "bytes to encode,", decode.bytes, "to decode, however long the clip is");

/** A square that moves to the right, three frames at a time. */
async function* frames() {
  for (let begin = 0; begin < 15; begin += 3) {
    const values = new Float32Array(3 * side * side * 3).fill(-1);
    for (let frame = 0; frame < 3; frame++)
      for (let y = 20; y < 40; y++) {
        const row = (frame * side + y) * side + begin + frame;
        values.fill(1, row * 3, (row + 20) * 3);
      }
    yield { values, dims: [3, side, side, 3] };
  }
}

const latents = [];
async function* remembered(stream) {
  for await (const piece of stream) {
    latents.push(piece);
    yield piece;
  }
}

let numFrames = 0;
for await (const piece of vae.decodeStream(remembered(vae.encodeStream(frames())))) {
  numFrames += piece.dims[0];
  console.log("frames so far:", numFrames, "of size", piece.dims.slice(1, 3).join(" x "));
}
console.log(
  "latents:",
  latents.reduce((sum, { dims }) => sum + dims[0], 0),
); // one for the first frame, one per further four
await vae.close();
