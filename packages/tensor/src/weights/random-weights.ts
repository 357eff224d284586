import { allocateBuffer, countOf } from "@vd/kernels-native";
import { makeStorage } from "../graph";
import { toFloat16Array } from "../half";
import { CpuGenerator } from "../random/index";
import { Weights } from "./weights";

/** Random numbers that all weights share, each from its own place on: hundreds of millions of new ones would take minutes. */
const POOL_LENGTH = 2 ** 16;
const BYTES = Uint16Array.BYTES_PER_ELEMENT;
/** What tells places of the pool apart; it shares no factor with the pool's length. */
const STRIDE = 31_337;

/** Size that a trained layer has: norms scale by about 1, filters keep the size of what they filter; variances are above 0. */
function sizeOf(name: string, dims: readonly number[]): { centre: number; spread: number } {
  if (dims.length > 1) return { centre: 0, spread: 1 / Math.sqrt(countOf(dims.slice(1))) };
  return { centre: /weight$|running_var$/.test(name) ? 1 : 0, spread: 0.1 };
}

/**
 * Returns weights in float16 that are made as modules ask for them, for measurements of models without files: the same seed and order
 * give the same ones.
 *
 * @example
 * ```ts
 * import { layoutGraph, linear, randomWeights } from "@vd/tensor";
 *
 * const layer = linear(randomWeights(0).at("layer"), { cin: 64, cout: 64 });
 * console.log(layoutGraph((g) => g.output("y", layer(g, g.input("x", [1, 1, 8, 64])))).memory.weightBytes);
 * ```
 */
export function randomWeights(seed = 0): Weights {
  const pool = new CpuGenerator(seed).randn(POOL_LENGTH);
  let numMade = 0;
  return Weights.made("random weights", (name, dims) => {
    const { centre, spread } = sizeOf(name, dims);
    const begin = (numMade++ * STRIDE) % POOL_LENGTH;
    const values = toFloat16Array(pool.map((_, i) => centre + spread * pool[(begin + i) % POOL_LENGTH]!));
    const count = countOf(dims);
    const buffer = allocateBuffer(count * BYTES);
    for (let at = 0; at < count; at += POOL_LENGTH)
      buffer.writeSync(values.subarray(0, Math.min(POOL_LENGTH, count - at)), at * BYTES);
    const storage = makeStorage("weights", count * BYTES, name, { buffer, byteOffset: 0 });
    return { dtype: "f16", shape: [...dims], storage, byteOffset: 0 };
  });
}
