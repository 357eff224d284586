import { allocateBuffer, countOf, type DeviceBuffer } from "@vd/kernels-native";
import { makeStorage } from "../graph";
import { toFloat16Array } from "../half";
import { CpuGenerator } from "../random/index";
import type { Storage } from "../tensor";
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

/** A weight's numbers, made when they are first needed: recording a model takes none of its memory. */
class RandomStorage implements Storage {
  readonly kind = "weights";
  readonly id: number;
  readonly bytes: number;
  private buffer: DeviceBuffer | undefined;

  /** pool: random numbers; begin: the place of the first one. */
  constructor(
    readonly name: string,
    private readonly dims: readonly number[],
    private readonly pool: Float32Array,
    private readonly begin: number,
  ) {
    this.bytes = countOf(dims) * BYTES;
    this.id = makeStorage("weights", this.bytes, name).id;
  }

  get place(): { buffer: DeviceBuffer; byteOffset: number } {
    if (!this.buffer) {
      const whole = allocateBuffer(this.bytes);
      for (const { values, at } of this.pieces()) whole.writeSync(values, at);
      this.buffer = whole;
    }
    return { buffer: this.buffer, byteOffset: 0 };
  }

  async fill(): Promise<void> {
    if (this.buffer) return;
    const whole = allocateBuffer(this.bytes);
    for (const { values, at } of this.pieces()) await whole.write(values, at);
    this.buffer ??= whole;
  }

  /** The numbers in pieces of the pool's length, each with the place of its first byte. */
  private *pieces(): Generator<{ values: Uint16Array; at: number }> {
    const { centre, spread } = sizeOf(this.name, this.dims);
    const count = countOf(this.dims);
    const ofPool = (_: unknown, i: number) => centre + spread * this.pool[(this.begin + i) % POOL_LENGTH]!;
    const values = toFloat16Array(Float32Array.from({ length: Math.min(count, POOL_LENGTH) }, ofPool));
    for (let at = 0; at < count; at += POOL_LENGTH)
      yield { values: values.subarray(0, Math.min(POOL_LENGTH, count - at)), at: at * BYTES };
  }
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
    const begin = (numMade++ * STRIDE) % POOL_LENGTH;
    const storage = new RandomStorage(name, dims, pool, begin);
    return { dtype: "f16", shape: [...dims], storage, byteOffset: 0 };
  });
}
