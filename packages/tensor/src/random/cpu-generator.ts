import { fillNormals, sharedFloats, VdError } from "@vd/kernels-native";
import { toBfloat16Array, toFloat16Array } from "../half";
import { checkedCount } from "./count";
import { checkEngineState, Mt19937 } from "./mt19937";
import { blockLength, boxMullerBlock, halfTypes, type Rounding, roundToFloat64 } from "./normal-blocks";
import { seedWords } from "./seed";

/** The element types that random numbers come in. */
export type RandomDtype = "float32" | "float64" | "float16" | "bfloat16";

/** What a call returns per type: 16-bit types as their codes. */
export interface RandomArrays {
  float32: Float32Array;
  float64: Float64Array;
  float16: Uint16Array;
  bfloat16: Uint16Array;
}

/** How torch makes 16-bit numbers: up to 2.11 by rounding every operation, from 2.13 on by rounding float32 once. */
export type HalfAlgorithm = "torch-2.11" | "torch-2.13";

/** Settings of a {@link CpuGenerator}. */
export interface CpuGeneratorOptions {
  /** Default "torch-2.11", the version of the reference runs. */
  halfAlgorithm?: HalfAlgorithm;
}

const twoTo53 = 2 ** 53;

/** What {@link CpuGenerator.randnOnWorker} makes of unit normals: mean + scale · normal, each operation rounded to `dtype`. */
export interface ShapedNormals {
  /** Default 1. */
  scale?: number | undefined;
  /** A mean for each number, in an array of its own; default: none. */
  mean?: Float32Array | undefined;
  /** Default "float32". */
  dtype?: "float32" | "float16" | "bfloat16" | undefined;
  /** Where to put the numbers, as many as are wanted; default: a new array of `sharedFloats`. */
  into?: Float32Array | undefined;
}

function checkLength(name: string, array: Float32Array, length: number): void {
  if (array.length === length) return;
  throw new VdError({ code: "shape", where: `randn ${name}`, expected: `${length} numbers`, got: `${array.length}` });
}

/**
 * torch.Generator("cpu"): the same seed gives the numbers that torch.randn and torch.rand give, call by call. 16-bit
 * numbers and uniforms are exact; float32 normals differ by a few units in the last place, as torch's own builds do.
 * Source: pytorch/pytorch aten/src/ATen/native/cpu/DistributionTemplates.h, core/DistributionsHelper.h.
 *
 * @example
 * ```ts
 * import { CpuGenerator } from "@vd/tensor";
 *
 * const generator = new CpuGenerator(42);
 * console.log(generator.randn(4)); // as torch.randn(4, generator=torch.Generator().manual_seed(42))
 * ```
 */
export class CpuGenerator {
  private readonly engine: Mt19937;
  /** While a worker thread draws from a copy of the engine. */
  private isDrawing = false;
  private readonly halfAlgorithm: HalfAlgorithm;
  /** The second normal of a pair; only calls for fewer than 16 elements make and use it. */
  private spare: number | undefined;

  /**
   * The engine takes the low 32 bits of the seed.
   *
   * @throws VdError `attr` for a seed that is not a 64-bit integer
   */
  constructor(seed: number | bigint, options: CpuGeneratorOptions = {}) {
    this.engine = new Mt19937(seedWords(seed).low);
    this.halfAlgorithm = options.halfAlgorithm ?? "torch-2.11";
  }

  /**
   * Returns the state of the engine, as `fillNormals` takes it: the 624 words of MT19937, then the position of the next one. The second normal of a
   * pair, which only calls for fewer than 16 elements make, is no part of it.
   *
   * @throws VdError `unsupported` while a worker thread draws
   */
  saveState(): Uint32Array {
    return this.idle().save();
  }

  /**
   * Goes on where a generator stood when its state was saved.
   *
   * @throws VdError `shape` for what {@link saveState} cannot have returned, `unsupported` while a worker thread draws
   */
  restoreState(saved: Uint32Array): void {
    const engine = this.idle();
    checkEngineState(saved);
    engine.restore(saved);
    this.spare = undefined;
  }

  /** The next raw draw: an unsigned 32-bit integer. */
  random32(): number {
    return this.idle().next();
  }

  /** The next 64-bit draw: two 32-bit ones, the high half first. */
  random64(): bigint {
    const high = BigInt(this.idle().next());
    return (high << 32n) | BigInt(this.engine.next());
  }

  /** `count` numbers from [0, 1), as torch.rand(count, dtype). */
  rand(count: number): Float32Array;
  rand<Dtype extends RandomDtype>(count: number, dtype: Dtype): RandomArrays[Dtype];
  rand(count: number, dtype: RandomDtype = "float32"): RandomArrays[RandomDtype] {
    this.idle();
    const length = checkedCount(count);
    if (dtype === "float64") return Float64Array.from({ length }, () => this.uniform53());
    if (dtype === "float32") return Float32Array.from({ length }, () => this.uniform(24));
    return this.encode(
      Float32Array.from({ length }, () => this.halfUniform(dtype)),
      dtype,
    );
  }

  /** `count` standard normals, as torch.randn(count, dtype). */
  randn(count: number): Float32Array;
  randn<Dtype extends RandomDtype>(count: number, dtype: Dtype): RandomArrays[Dtype];
  randn(count: number, dtype: RandomDtype = "float32"): RandomArrays[RandomDtype] {
    this.idle();
    const length = checkedCount(count);
    if (dtype === "float64") return this.fill(new Float64Array(length), () => this.uniform53(), roundToFloat64);
    if (dtype === "float32") return this.fill(new Float32Array(length), () => this.uniform(24), Math.fround);
    const { round, uniformBits } = this.halfType(dtype);
    if (length < blockLength) return this.encode(this.fillPairs(new Float32Array(length)), dtype);
    if (this.halfAlgorithm === "torch-2.13") return this.encode(this.fillBlockwise(length), dtype);
    return this.encode(
      this.fill(new Float32Array(length), () => this.uniform(uniformBits), round),
      dtype,
    );
  }

  /**
   * `count` normals as {@link randn} gives them in float32, with a scale and a mean, drawn on a worker thread. No other
   * call may come before the promise settles, and nobody may touch `into` and `mean`, which are used in place if they
   * are `sharedFloats`.
   *
   * @throws VdError `unsupported` for a call meanwhile, `attr` or `shape` for what does not fit
   */
  async randnOnWorker(count: number, options: ShapedNormals = {}): Promise<Float32Array> {
    const length = checkedCount(count);
    const { into: values = sharedFloats(length), mean, scale, dtype = "float32" } = options;
    checkLength("into", values, length);
    if (mean) checkLength("mean", mean, length);
    const engine = this.idle();
    if (length < blockLength) return this.shaped(this.fillPairs(values), options);
    const native = { scale, mean, dtype: dtype === "float32" ? "f32" : this.halfType(dtype).native } as const;
    this.isDrawing = true;
    try {
      engine.restore(await fillNormals(engine.save(), values, native));
    } finally {
      this.isDrawing = false;
    }
    return values;
  }

  /** The engine, unless a worker thread is drawing. */
  private idle(): Mt19937 {
    if (!this.isDrawing) return this.engine;
    const [expected, got] = ["one call of a generator at a time", "a second one"];
    throw new VdError({ code: "unsupported", where: "randn", expected, got, hint: "Await the first." });
  }

  /** The few numbers that torch draws in pairs, as the worker shapes many. */
  private shaped(values: Float32Array, { scale = 1, mean, dtype = "float32" }: ShapedNormals): Float32Array {
    const round = dtype === "float32" ? Math.fround : this.halfType(dtype).round;
    for (let i = 0; i < values.length; i++) {
      const scaled = round(round(values[i]!) * Math.fround(scale));
      values[i] = mean ? round(mean[i]! + scaled) : scaled;
    }
    return values;
  }

  private halfType(dtype: "float16" | "bfloat16") {
    const type = halfTypes[dtype];
    if (type !== undefined) return type;
    const expected = "float32, float64, float16 or bfloat16";
    throw new VdError({ code: "dtype", where: "randn", expected, got: String(dtype) });
  }

  private encode(values: Float32Array, dtype: "float16" | "bfloat16"): Uint16Array {
    return dtype === "float16" ? toFloat16Array(values) : toBfloat16Array(values);
  }

  /** The low `bits` bits of a draw as a fraction. */
  private uniform(bits: number): number {
    return (this.engine.next() & (2 ** bits - 1)) / 2 ** bits;
  }

  private uniform53(): number {
    const high = this.engine.next() & 0x1f_ffff;
    return (high * 2 ** 32 + this.engine.next()) / twoTo53;
  }

  private halfUniform(dtype: "float16" | "bfloat16"): number {
    const { round, uniformBits } = this.halfType(dtype);
    if (this.halfAlgorithm === "torch-2.11") return this.uniform(uniformBits);
    const value = round(this.uniform(24));
    // Rounding may reach the excluded end, which torch then folds onto the other.
    return value === 1 ? 0 : value;
  }

  /** All uniforms first, then block by block; a ragged end is drawn anew, over the last 16. */
  private fill<Numbers extends Float32Array | Float64Array>(
    values: Numbers,
    uniform: () => number,
    round: Rounding,
  ): Numbers {
    const { length } = values;
    if (length < blockLength) return this.fillPairs(values);
    for (let i = 0; i < length; i++) values[i] = uniform();
    const numBlocks = Math.floor(length / blockLength);
    for (let block = 0; block < numBlocks; block++) boxMullerBlock(values, block * blockLength, round);
    if (length % blockLength !== 0) this.fillEnd(values, uniform, round);
    return values;
  }

  private fillEnd(values: Float32Array | Float64Array, uniform: () => number, round: Rounding): void {
    const start = values.length - blockLength;
    for (let i = start; i < values.length; i++) values[i] = uniform();
    boxMullerBlock(values, start, round);
  }

  /** The 16-bit way of torch 2.13: each block draws its own 16 uniforms; a ragged end is one more, over the last 16. */
  private fillBlockwise(length: number): Float32Array {
    const values = new Float32Array(length);
    for (let block = 0; block < length; block += blockLength) {
      const start = Math.min(block, length - blockLength);
      for (let i = start; i < start + blockLength; i++) values[i] = this.uniform(24);
      boxMullerBlock(values, start, Math.fround);
    }
    return values;
  }

  /** One by one from float64 pairs. */
  private fillPairs<Numbers extends Float32Array | Float64Array>(values: Numbers): Numbers {
    for (let i = 0; i < values.length; i++) values[i] = this.nextOfPair();
    return values;
  }

  private nextOfPair(): number {
    const { spare } = this;
    if (spare !== undefined) {
      this.spare = undefined;
      return spare;
    }
    const angle = 2 * Math.PI * this.uniform53();
    const radius = Math.sqrt(-2 * Math.log1p(-this.uniform53()));
    this.spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }
}
