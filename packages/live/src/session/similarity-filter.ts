import { CpuGenerator } from "@vd/tensor";
import type { SimilarityOptions } from "./types";

const THRESHOLD = 0.98;
const MAX_SKIP = 10;

/** Cosine of the angle between two pictures; 1 where both are grey, whose angle is none. */
export function cosineSimilarity(a: Float32Array, b: Float32Array): number {
  let [product, squareA, squareB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i]!, b[i]!];
    product += x * y;
    squareA += x * x;
    squareB += y * y;
  }
  const length = Math.sqrt(squareA * squareB);
  return length > 0 ? product / length : squareA === squareB ? 1 : 0;
}

/**
 * Finds pictures that hardly differ from the last one that a frame was made of: the nearer, the more probably the frame is left out.
 * Chance keeps a scene that moves slowly from standing still. Source: https://arxiv.org/abs/2312.12491, section 3.5.
 */
export class SimilarityFilter {
  private readonly threshold: number;
  private readonly maxSkip: number;
  private readonly random: () => number;
  private made: Float32Array | undefined;
  private skipped = 0;
  private isRenewed = false;

  /** random: numbers from 0 to 1. */
  constructor(
    { threshold = THRESHOLD, maxSkip = MAX_SKIP }: SimilarityOptions = {},
    seed: number | bigint = 0,
    random?: () => number,
  ) {
    this.threshold = threshold;
    this.maxSkip = maxSkip;
    const generator = new CpuGenerator(seed);
    this.random = random ?? (() => generator.rand(1)[0]!);
  }

  /** Whether a frame of `picture` is left out; undefined: the picture of the frame before. */
  isSame(picture: Float32Array | undefined): boolean {
    if (this.made === undefined || this.isRenewed) return this.make(picture);
    const similarity = picture ? cosineSimilarity(this.made, picture) : 1;
    const chance = this.threshold >= 1 ? 0 : Math.max(0, 1 - (1 - similarity) / (1 - this.threshold));
    if (chance === 0 || chance < this.random() || this.skipped >= this.maxSkip) return this.make(picture);
    this.skipped++;
    return true;
  }

  /** The next picture is not left out, however near it is. */
  renew(): void {
    this.isRenewed = true;
  }

  /** Forgets the picture: the next one is not left out. */
  clear(): void {
    this.made = undefined;
    this.skipped = 0;
  }

  private make(picture: Float32Array | undefined): boolean {
    this.skipped = 0;
    this.isRenewed = false;
    if (!picture) return false;
    this.made ??= new Float32Array(picture.length);
    this.made.set(picture);
    return false;
  }
}
