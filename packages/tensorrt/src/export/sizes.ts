import { VdError } from "@vd/kernels-native";
import type { GraphWriter } from "../onnx/graph-writer";

/** A size of the model that is known at run time only: an axis of one of its inputs. */
export interface FreeSize {
  /** The axis' name in the model, e.g. "frames". */
  readonly name: string;
  readonly input: string;
  readonly axis: number;
  /** The number that stands for it while the model is recorded: a prime of its own times what it is divided by. */
  readonly traced: number;
  readonly prime: number;
}

/** Numbers that stand for free sizes: large enough that channels and fixed sizes are no multiples of them, small enough
 *  that the byte counts of whole clips stay exact. */
const PRIMES = [101, 103, 107, 109, 113, 127, 131, 137, 139, 149] as const;

/** A size as it is computed: a number, or free sizes multiplied, times `numerator` by `denominator`. */
interface Monomial {
  readonly factors: readonly FreeSize[];
  readonly numerator: number;
  readonly denominator: number;
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** Picks numbers for sizes that stay free. wanted: by name, with what the size must be a multiple of; fixed: the sizes
 *  that do not stay free, which no chosen prime may divide. */
export function chooseTraced(
  wanted: readonly { name: string; input: string; axis: number; multiple: number }[],
  fixed: readonly number[],
): FreeSize[] {
  const primes = PRIMES.filter((prime) => fixed.every((size) => size % prime !== 0));
  return wanted.map(({ name, input, axis, multiple }, i) => {
    const prime = primes[i]!;
    return { name, input, axis, prime, traced: prime * multiple };
  });
}

/** Turns the sizes of a recording back into what they are made of. A recording has numbers only; where a size is free,
 *  its prime tells it apart, so that 2 · 107 · 109 can only be an area of two of its kind. */
export class Sizes {
  private readonly scalars = new Map<string, string>();

  constructor(
    private readonly writer: GraphWriter,
    readonly free: readonly FreeSize[],
  ) {}

  /** True if a size is the same in every run. */
  isFixed(size: number): boolean {
    return this.free.every(({ prime }) => size % prime !== 0);
  }

  /** The name of an axis of this size for the graph's signature: the number, or a name that says how it comes about. */
  axis(size: number): number | string {
    if (this.isFixed(size)) return size;
    const { factors, numerator, denominator } = this.monomial(size);
    const product = factors.map(({ name }) => name).join("*");
    return `${numerator === 1 ? "" : `${numerator}*`}${product}${denominator === 1 ? "" : `/${denominator}`}`;
  }

  /** A 1-D constant or computed tensor that holds `dims`, for Reshape, Expand and Resize; `literal` marks the positions
   *  that are no sizes of a clip (channels) and are taken as they are. One free size becomes -1 if `infer` allows it. */
  shape(dims: readonly number[], literal: readonly number[] = [], infer = true): string {
    const isOpen = (dim: number, i: number) => !literal.includes(i) && !this.isFixed(dim);
    const open = dims.filter(isOpen);
    if (open.length === 0) return this.writer.ints(dims);
    if (open.length === 1 && infer) return this.writer.ints(dims.map((dim, i) => (isOpen(dim, i) ? -1 : dim)));
    const parts = dims.map((dim, i) => (isOpen(dim, i) ? this.scalar(dim) : this.writer.ints([dim])));
    return this.writer.node("Concat", parts, { axis: 0 });
  }

  /** A 1-D tensor of one number: the size at run time. */
  scalar(size: number): string {
    if (this.isFixed(size)) return this.writer.ints([size]);
    const { factors, numerator, denominator } = this.monomial(size);
    const key = `${factors.map(({ name }) => name).join("*")}*${numerator}/${denominator}`;
    const known = this.scalars.get(key);
    if (known) return known;
    let value = factors.map((factor) => this.sizeOf(factor)).reduce((a, b) => this.writer.node("Mul", [a, b]));
    if (numerator !== 1) value = this.writer.node("Mul", [value, this.writer.ints([numerator])]);
    if (denominator !== 1) value = this.writer.node("Div", [value, this.writer.ints([denominator])]);
    this.scalars.set(key, value);
    return value;
  }

  private sizeOf({ name, input, axis }: FreeSize): string {
    const known = this.scalars.get(name);
    if (known) return known;
    const value = this.writer.node("Gather", [this.writer.node("Shape", [input]), this.writer.ints([axis])], {
      axis: 0,
    });
    this.scalars.set(name, value);
    return value;
  }

  private monomial(size: number): Monomial {
    const factors: FreeSize[] = [];
    let numerator = size;
    let denominator = 1;
    for (const free of this.free)
      while (numerator % free.prime === 0) {
        factors.push(free);
        numerator /= free.prime;
        denominator *= free.traced / free.prime;
        if (factors.length > 8) throw unexplained(size);
      }
    const common = gcd(numerator, denominator);
    return { factors, numerator: numerator / common, denominator: denominator / common };
  }
}

function unexplained(size: number): VdError {
  return new VdError({
    code: "internal",
    where: "export",
    expected: "a size made of at most 8 free sizes",
    got: String(size),
  });
}
