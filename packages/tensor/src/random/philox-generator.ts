import { VdError } from "@vd/kernels-native";
import { toBfloat16Array, toFloat16Array } from "../half";
import { checkedCount } from "./count";
import type { RandomArrays } from "./cpu-generator";
import { philox4x32 } from "./philox";
import { type SeedWords, seedWords } from "./seed";

/** What the numbers beyond `threads` elements depend on: the GPU that torch would draw them on. */
export interface PhiloxGeneratorOptions {
  /** Streaming multiprocessors; default 132 (H100 SXM, H200). */
  multiprocessors?: number;
  /** Resident threads per multiprocessor; default 2048. */
  threadsPerMultiprocessor?: number;
}

/** What op sampler_step draws the numbers of {@link PhiloxGenerator.randn} from, in place of its noise. */
export interface PhiloxDraw {
  /** The operand `philox`: the seed's halves, lower first, then those of the engine calls before. */
  words: Int32Array;
  /** The attribute `lanes`. */
  lanes: number;
}

/** The types that {@link PhiloxGenerator.randn} makes. */
export type PhiloxDtype = "float32" | "float16" | "bfloat16";

const blockThreads = 256;
/** Normals per counter. */
const wordsPerCounter = 4;
const round = Math.fround;

function checkedOption(name: string, value: number, divisor: number): number {
  if (Number.isSafeInteger(value) && value >= divisor) return value;
  throw new VdError({ code: "attr", where: name, expected: `an integer of at least ${divisor}`, got: String(value) });
}

/**
 * torch.Generator("cuda"): the same seed gives the normals that torch.randn(device="cuda") gives, within a few units in
 * the last place of float32. Up to multiprocessors·threadsPerMultiprocessor elements (270,336 by default) they are the
 * same on every GPU. Source: pytorch/pytorch aten/src/ATen/native/cuda/DistributionTemplates.h; curand_normal.h.
 *
 * @example
 * ```ts
 * import { PhiloxGenerator } from "@vd/tensor";
 *
 * console.log(new PhiloxGenerator(42).randn(4)); // as torch.randn(4, device="cuda") with that seed
 * ```
 */
export class PhiloxGenerator {
  private readonly key: SeedWords;
  private readonly maxBlocks: number;
  private nextOffset = 0;

  /**
   * Makes a generator that stands at offset 0.
   *
   * @throws VdError `attr` for a seed that is not a 64-bit integer
   */
  constructor(seed: number | bigint, options: PhiloxGeneratorOptions = {}) {
    this.key = seedWords(seed);
    const multiprocessors = checkedOption("multiprocessors", options.multiprocessors ?? 132, 1);
    const threads = checkedOption("threadsPerMultiprocessor", options.threadsPerMultiprocessor ?? 2048, blockThreads);
    this.maxBlocks = multiprocessors * Math.floor(threads / blockThreads);
  }

  /** How many words each thread has drawn: torch's Philox offset, a multiple of 4. */
  get offset(): number {
    return this.nextOffset;
  }

  /**
   * Sets the offset, as torch's `set_state` does.
   *
   * @throws VdError `attr` for anything but a multiple of 4
   */
  set offset(offset: number) {
    if (!Number.isSafeInteger(offset) || offset < 0 || offset % wordsPerCounter !== 0) {
      throw new VdError({ code: "attr", where: "offset", expected: "a multiple of 4", got: String(offset) });
    }
    this.nextOffset = offset;
  }

  /** `count` standard normals, as torch.randn(count, dtype, device="cuda"); 16-bit types are float32 rounded. */
  randn(count: number): Float32Array;
  randn<Dtype extends PhiloxDtype>(count: number, dtype: Dtype): RandomArrays[Dtype];
  randn(count: number, dtype: PhiloxDtype = "float32"): RandomArrays[PhiloxDtype] {
    if (dtype !== "float32" && dtype !== "float16" && dtype !== "bfloat16") {
      const expected = "float32, float16 or bfloat16";
      throw new VdError({ code: "unsupported", where: "PhiloxGenerator.randn", expected, got: String(dtype) });
    }
    const values = this.normals(checkedCount(count));
    if (dtype === "float32") return values;
    return dtype === "float16" ? toFloat16Array(values) : toBfloat16Array(values);
  }

  /** The threads among which `count` numbers are dealt. */
  lanes(count: number): number {
    return blockThreads * Math.max(1, Math.min(Math.ceil(checkedCount(count) / blockThreads), this.maxBlocks));
  }

  /** Says where the next `count` numbers come from and goes past them, so that a device draws them. */
  draw(count: number): PhiloxDraw {
    const calls = this.nextOffset / wordsPerCounter;
    const lanes = this.lanes(count);
    const words = Int32Array.of(this.key.low, this.key.high, calls % 2 ** 32, Math.floor(calls / 2 ** 32));
    this.nextOffset += wordsPerCounter * Math.ceil(count / (wordsPerCounter * lanes));
    return { words, lanes };
  }

  /** Thread t's turn k makes four normals, the elements t + (4k + j)·threads. */
  private normals(count: number): Float32Array {
    const values = new Float32Array(count);
    if (count === 0) return values;
    const threads = this.lanes(count);
    const numTurns = Math.ceil(count / (wordsPerCounter * threads));
    const counter = new Uint32Array(4);
    const words = new Uint32Array(4);
    for (let turn = 0; turn < numTurns; turn++) {
      const position = this.nextOffset / wordsPerCounter + turn;
      counter[0] = position % 2 ** 32;
      counter[1] = Math.floor(position / 2 ** 32);
      const first = turn * wordsPerCounter * threads;
      const used = Math.min(threads, count - first);
      for (let thread = 0; thread < used; thread++) {
        counter[2] = thread;
        philox4x32(counter, this.key, words);
        writeNormals(words, values, first + thread, threads);
      }
    }
    this.nextOffset += wordsPerCounter * numTurns;
    return values;
  }
}

/** Up to four normals at `index`, `index + stride`, …, as far as there is room. */
function writeNormals(words: Uint32Array, values: Float32Array, index: number, stride: number): void {
  writePair(words[0]!, words[1]!, values, index, stride);
  if (index + 2 * stride < values.length) writePair(words[2]!, words[3]!, values, index + 2 * stride, stride);
}

/** Box and Muller's transform in float32: sine first, then cosine. */
function writePair(a: number, b: number, values: Float32Array, index: number, stride: number): void {
  const unit = 2 ** -32;
  const radial = round(round(a) * unit + unit / 2);
  const angle = round(round(b) * round(unit * 2 * Math.PI) + round(unit * Math.PI));
  const radius = round(Math.sqrt(round(-2 * round(Math.log(radial)))));
  values[index] = radius * round(Math.sin(angle));
  if (index + stride < values.length) values[index + stride] = radius * round(Math.cos(angle));
}
