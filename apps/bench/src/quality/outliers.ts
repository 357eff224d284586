import { createHash } from "node:crypto";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { VdError } from "@vd/kernels-native";
import { fromFloat16Array, SafetensorsFile, type TensorToWrite, toFloat16Array, writeSafetensors } from "@vd/tensor";

/** Where the UNet's weights are. */
const UNET_FILE = "unet/diffusion_pytorch_model.safetensors";
/** One channel of so many is an outlier. */
const CHANNELS_OF_ONE = 32;
/** Outliers are this many times as large as they were. */
const [LEAST, MOST] = [20, 60];

/** The linear layers that take what a LayerNorm gives, by the norm's name; none for other norms. */
function takersOf(norm: string): string[] {
  const block = norm.replace(/\.[^.]+$/, "");
  if (norm.endsWith(".norm1")) return ["q", "k", "v"].map((part) => `${block}.attn1.to_${part}`);
  if (norm.endsWith(".norm3")) return [`${block}.ff.net.0.proj`];
  return norm.endsWith(".norm_in") ? [`${block}.ff_in.net.0.proj`] : [];
}

/** A number from 0 to 1 that follows from a text. */
const numberOf = (text: string) => createHash("sha256").update(text).digest().readUInt32LE() / 2 ** 32;

/** Channels of a norm that become large, and by how much. */
function outliersOf(norm: string, channels: number, seed: number): Map<number, number> {
  const found = new Map<number, number>();
  for (let i = 0; found.size < Math.max(1, Math.round(channels / CHANNELS_OF_ONE)); i++) {
    const channel = Math.floor(numberOf(`${seed} ${norm} channel ${i}`) * channels);
    found.set(channel, LEAST + (MOST - LEAST) * numberOf(`${seed} ${norm} factor ${i}`));
  }
  return found;
}

/** Factors of the columns of each changed tensor [..,C], by its name; of norms these are its numbers. */
function factorsOf(file: SafetensorsFile, seed: number): Map<string, Map<number, number>> {
  const factors = new Map<string, Map<number, number>>();
  for (const { name, shape } of file.entries.values()) {
    const norm = name.replace(/\.weight$/, "");
    const takers = norm === name ? [] : takersOf(norm);
    if (!takers.every((taker) => file.entries.has(`${taker}.weight`)) || takers.length === 0) continue;
    const outliers = outliersOf(norm, shape[0]!, seed);
    for (const part of ["weight", "bias"]) factors.set(`${norm}.${part}`, outliers);
    const inverse = new Map([...outliers].map(([channel, factor]) => [channel, 1 / factor]));
    for (const taker of takers) factors.set(`${taker}.weight`, inverse);
  }
  return factors;
}

function multiplied(bytes: Uint8Array, width: number, factors: ReadonlyMap<number, number>): Uint16Array {
  const values = fromFloat16Array(new Uint16Array(bytes.slice().buffer));
  for (const [channel, factor] of factors) for (let i = channel; i < values.length; i += width) values[i]! *= factor;
  return toFloat16Array(values);
}

/**
 * Copies a model's folder to `folder` with outliers as large checkpoints have them: one channel of 32 behind each LayerNorm that linear
 * layers take is 20 to 60 times as large, and the weights that take it as much smaller, so that the model computes the same but for the
 * rounding of its weights. Returns the folder. Source of what they are like: https://arxiv.org/abs/2211.10438 section 3.
 *
 * @throws VdError `io`, `unsupported` for a UNet that is not one file of float16
 */
export async function withOutliers(model: string, folder: string, seed: number): Promise<string> {
  await cp(model, folder, { recursive: true, dereference: true });
  const path = join(model, UNET_FILE);
  using file = SafetensorsFile.open(path);
  const factors = factorsOf(file, seed);
  const tensors = [...file.entries.values()].map(({ name, shape, dtype }): TensorToWrite => {
    if (dtype !== "F16")
      throw new VdError({ code: "unsupported", where: path, expected: "weights in float16", got: `${name}: ${dtype}` });
    const changed = factors.get(name);
    const data = () => {
      const bytes = file.readBytes(name);
      return changed ? multiplied(bytes, shape.at(-1)!, changed) : bytes;
    };
    return { name, shape, dtype, data };
  });
  writeSafetensors(join(folder, UNET_FILE), tensors);
  return folder;
}
