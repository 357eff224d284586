import { allocateBuffer, countOf, type DeviceBuffer } from "@vd/kernels-native";
import {
  CpuGenerator,
  makeStorage,
  type Pausable,
  pausable,
  toFloat16Array,
  type WeightEntry,
  Weights,
} from "@vd/tensor";
import { type CausalVaeConfig, checkCausalVaeConfig } from "./config";
import { type CheckpointTensor, causalVaeTensors } from "./tensors";

/** Random numbers that all weights share, each from its own place on: hundreds of millions of new ones would take seconds. */
const POOL_LENGTH = 2 ** 16;
/** Values between two pauses. */
const PIECE = 2 ** 14;

/** Writes values of the size that a trained layer has: norms scale by about 1, filters keep the size of what they filter. */
function* fill(
  buffer: DeviceBuffer,
  { name, shape }: CheckpointTensor,
  pool: Float32Array,
  begin: number,
): Pausable<void> {
  const count = countOf(shape);
  const [centre, spread] =
    shape.length > 1 ? [0, 1 / Math.sqrt(countOf(shape.slice(1)))] : [name.endsWith("weight") ? 1 : 0, 0.1];
  for (let at = 0; at < count; at += PIECE) {
    const values = new Float32Array(Math.min(PIECE, count - at));
    for (let i = 0; i < values.length; i++) values[i] = centre + spread * pool[(begin + at + i) % POOL_LENGTH]!;
    buffer.writeSync(toFloat16Array(values), at * Uint16Array.BYTES_PER_ELEMENT);
    yield;
  }
}

/** Returns random weights in float16 of everything that the configuration asks for, for measurements: the same seed gives the
 *  same ones. Pauses after some values. @throws VdError `attr` for what is no configuration */
export const randomCausalVaeWeights = pausable(function* (
  config: CausalVaeConfig,
  seed: number | undefined = 0,
): Pausable<Weights> {
  checkCausalVaeConfig(config, "randomCausalVaeWeights config");
  const pool = new CpuGenerator(seed).randn(POOL_LENGTH);
  const entries = new Map<string, WeightEntry>();
  for (const tensor of causalVaeTensors(config)) {
    const bytes = countOf(tensor.shape) * Uint16Array.BYTES_PER_ELEMENT;
    const buffer = allocateBuffer(bytes);
    yield* fill(buffer, tensor, pool, entries.size * 31_337);
    const storage = makeStorage("weights", bytes, tensor.name, { buffer, byteOffset: 0 });
    entries.set(tensor.name, { dtype: "f16", shape: tensor.shape, storage, byteOffset: 0 });
  }
  return Weights.fromEntries("random weights", entries);
});
