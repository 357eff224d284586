import type { DType } from "@vd/kernels-native";
import type { Eager, Tensor } from "@vd/tensor";
import type { Fixture } from "../kind";
import { toPixels } from "../layout";

/** What a case computed, in the golden's order. */
export interface OpResult {
  values: ArrayLike<number>;
  /** The result must equal the golden bit by bit. */
  exact?: boolean;
}

/** One case of an `ops` fixture. Its parameters come from the tensors' shapes and from the description. */
export class OpCase {
  constructor(
    readonly fixture: Fixture,
    readonly eager: Eager,
    /** Of activations. */
    readonly dtype: DType,
    /** E.g. `conv2d.3x3.s2`. */
    readonly name: string,
    /** E.g. `conv2d kernel 3 stride 2 padding 1`. */
    readonly text: string,
  ) {}

  /** The part of the name before the first dot. */
  get family(): string {
    return this.name.split(".")[0]!;
  }

  /** The part of the name behind the first dot, or nothing. */
  get variant(): string {
    return this.name.slice(this.family.length + 1);
  }

  has(part: string): boolean {
    return this.fixture.has(`in.${this.name}.${part}`);
  }

  numbers(part: string): Float32Array {
    return this.fixture.float32(`in.${this.name}.${part}`);
  }

  shape(part: string): readonly number[] {
    return this.fixture.shape(`in.${this.name}.${part}`);
  }

  /** Shape of the golden result. */
  get outShape(): readonly number[] {
    return this.fixture.shape(`out.${this.name}`);
  }

  /** Planes `part` as pixels [B,F,H,W,C]. */
  pixels(part: string): Tensor {
    const { values, dims } = toPixels(this.numbers(part), this.shape(part));
    return this.eager.tensor(values, dims, this.dtype);
  }

  /** Any shape [...,C] as tokens [1,1,S,C]. */
  tokens(part: string): Tensor {
    const values = this.numbers(part);
    const channels = this.shape(part).at(-1) ?? 1;
    return this.eager.tensor(values, [1, 1, values.length / channels, channels], this.dtype);
  }

  /** A weight in its stored type. */
  weight(part: string, dims: readonly number[] = this.shape(part)): Tensor {
    const stored = this.fixture.dtype(`in.${this.name}.${part}`);
    const dtype = stored === "F16" ? "f16" : stored === "BF16" ? "bf16" : "f32";
    return this.eager.tensor(this.numbers(part), dims, dtype, true);
  }

  /** The number behind `word` in the description or else in the name, or `fallback`. */
  number(word: string, fallback: number): number {
    const pattern = new RegExp(`\\b${word}\\s*=?\\s*(-?\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?)`, "i");
    const found = pattern.exec(this.text) ?? pattern.exec(this.name);
    return found ? Number(found[1]) : fallback;
  }

  /** The number or the list in brackets behind `word`, as a list of `length`; undefined where the text has none. */
  list(word: string, length: number): number[] | undefined {
    const found = new RegExp(`\\b${word}\\s*=?\\s*(?:\\(([^)]*)\\)|(\\d+))`, "i").exec(this.text);
    if (!found) return undefined;
    if (found[2] !== undefined) return Array.from({ length }, () => Number(found[2]));
    const items = found[1]!
      .split(",")
      .map((item) => item.trim())
      .filter(Boolean)
      .map(Number);
    return items.length === 1 ? Array.from({ length }, () => items[0]!) : items;
  }

  /** True if the description says `word` True; undefined where it does not mention it. */
  flag(word: string): boolean | undefined {
    const found = new RegExp(`\\b${word}\\s*=?\\s*(true|false)`, "i").exec(this.text);
    return found ? found[1]!.toLowerCase() === "true" : undefined;
  }

  /** Stops with a sentence about what this case asks for. */
  refuse(what: string): never {
    throw new Error(`${this.name}: ${what} ("${this.text}")`);
  }
}
