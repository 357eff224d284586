import type { Tensor } from "@vd/tensor";
import type { ExportContext } from "../context";

const WORD = 2 ** 32;
const HALF = 2 ** 16;

/** 2π · 2⁻³² in float32. */
const TURN = Math.fround(2 * Math.PI) * 2 ** -32;

/** Four words of 32 bits, as int64 numbers that are not negative. */
type Words = readonly [x: string, y: string, z: string, w: string];

/** Arithmetic on whole numbers. */
class Whole {
  constructor(readonly c: ExportContext) {}

  number(value: number): string {
    return this.c.writer.constant(
      `int64[${value}]`,
      [],
      "int64",
      new Uint8Array(BigInt64Array.of(BigInt(value)).buffer),
    );
  }

  do(operation: "Add" | "Mul" | "Div" | "Mod", a: string, b: string | number): string {
    return this.c.writer.node(operation, [a, typeof b === "number" ? this.number(b) : b]);
  }

  xor(...[first, ...others]: [string, ...string[]]): string {
    return others.reduce((a, b) => this.c.writer.node("BitwiseXor", [a, b]), first);
  }

  /** Upper and lower word of a product, by halves of the factor: nothing exceeds 2⁴⁹. */
  product(word: string, factor: number): { high: string; low: string } {
    const [upper, lower] = [this.do("Mul", word, Math.floor(factor / HALF)), this.do("Mul", word, factor % HALF)];
    const sum = this.do("Add", upper, this.do("Div", lower, HALF));
    const low = this.do("Add", this.do("Mul", this.do("Mod", sum, HALF), HALF), this.do("Mod", lower, HALF));
    return { high: this.do("Div", sum, HALF), low };
  }
}

/** Philox4x32-10 of a counter with a key of two words. Source: J. Salmon et al., Parallel random numbers: as easy as 1, 2, 3. */
function philox(whole: Whole, counter: Words, key: readonly [string, string]): Words {
  let [x, y, z, w] = counter;
  for (let round = 0; round < 10; round++) {
    const [key0, key1] = [0x9e3779b9, 0xbb67ae85].map((step, i) =>
      whole.do("Mod", whole.do("Add", key[i]!, (round * step) % WORD), WORD),
    ) as [string, string];
    const [first, second] = [whole.product(x, 0xd2511f53), whole.product(z, 0xcd9e8d57)];
    [x, y, z, w] = [whole.xor(second.high, y, key0), second.low, whole.xor(first.high, w, key1), first.low];
  }
  return [x, y, z, w];
}

/** The numbers 0, 1, 2, … of a clip's elements as planes [F,C,H,W], in the order of pixels: [1,F,H,W,C]. */
function numbersOfPlanes(whole: Whole, [, f, h, w, channels]: readonly number[]): string {
  const { writer, sizes } = whole.c;
  const count = writer.node("Squeeze", [sizes.scalar(f! * h! * w! * channels!), writer.ints([0])]);
  const all = writer.node("Range", [whole.number(0), count, whole.number(1)]);
  const planes = writer.node("Reshape", [all, sizes.shape([1, f!, channels!, h!, w!], [0, 2])]);
  return writer.node("Transpose", [planes], { perm: [0, 1, 3, 4, 2] });
}

/** The words that each element's normal is made of. state: seed and engine calls, lower and upper half each, [1,4] of i32. */
function drawn(whole: Whole, state: string, turn: string, lane: string): Words {
  const { c } = whole;
  const words = whole.do("Mod", c.cast(state, "int64"), WORD);
  const [seedLow, seedHigh, callsLow, callsHigh] = [0, 1, 2, 3].map((i) =>
    c.writer.node("Reshape", [c.part(words, 1, i, i + 1), c.writer.ints([1])]),
  ) as [string, string, string, string];
  const calls = whole.do("Add", whole.do("Div", turn, 4), callsLow);
  const low = whole.do("Mod", calls, WORD);
  const high = whole.do("Mod", whole.do("Add", whole.do("Div", calls, WORD), callsHigh), WORD);
  return philox(whole, [low, high, lane, whole.number(0)], [seedLow, seedHigh]);
}

/** sqrt(−2 ln u) · sin or cos of 2πv, u and v from two words each. Both in the open interval's middle: no logarithm of 0. */
function boxMuller(c: ExportContext, [first, second]: readonly [string, string], isSine: string): string {
  const node = (op: string, ...operands: string[]) => c.writer.node(op, operands);
  const unit = node("Mul", c.cast(first, "float"), c.wideScalar(2 ** -32));
  const radius = node("Add", unit, c.wideScalar(2 ** -33));
  // The definition rounds product and sum once.
  const double = (value: number) =>
    c.writer.constant(`double[${value}]`, [], "double", new Uint8Array(Float64Array.of(value).buffer));
  const turned = node("Mul", c.cast(c.cast(second, "float"), "double"), double(TURN));
  const angle = c.cast(node("Add", turned, double(TURN / 2)), "float");
  const length = node("Sqrt", node("Mul", node("Log", radius), c.wideScalar(-2)));
  return node("Mul", length, node("Where", isSine, node("Sin", angle), node("Cos", angle)));
}

/**
 * Unit normals as torch draws them on a GPU, [1,F,H,W,C] in float32. Lanes take turns, an element each; a call of the engine serves
 * four turns of a lane, in pairs of Box and Muller's, the sine first. dims: of the clip.
 */
export function philoxNormals(
  c: ExportContext,
  state: Tensor,
  { dims, lanes, row }: { dims: readonly number[]; lanes: number; row: string },
): string {
  const whole = new Whole(c);
  const numbers = numbersOfPlanes(whole, dims);
  const [turn, lane] = [whole.do("Div", numbers, lanes), whole.do("Mod", numbers, lanes)];
  const [x, y, z, w] = drawn(whole, c.read(state, row).rows(), turn, lane);
  const isFirst = c.writer.node("Less", [whole.do("Mod", turn, 4), whole.number(2)]);
  const pair = [
    [x, z],
    [y, w],
  ].map((words) => c.writer.node("Where", [isFirst, ...words])) as [string, string];
  const isSine = c.writer.node("Equal", [whole.do("Mod", turn, 2), whole.number(0)]);
  return boxMuller(c, pair, isSine);
}
