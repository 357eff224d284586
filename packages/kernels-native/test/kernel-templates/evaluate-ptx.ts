// Evaluates straight PTX with blocks and forward branches, as expressions are written into kernels: enough of it for their functions.

type Operation = (...operands: number[]) => number;

const bits = new DataView(new ArrayBuffer(4));
const { fround } = Math;

function floatOf(word: number): number {
  bits.setUint32(0, word >>> 0);
  return bits.getFloat32(0);
}

function wordOf(value: number): number {
  bits.setFloat32(0, value);
  return bits.getInt32(0);
}

/** The largest float32 that is not above a number. */
function roundedDown(value: number): number {
  const near = fround(value);
  return near <= value ? near : floatOf(wordOf(near) + (near > 0 ? -1 : 1));
}

/** The other number where one is none, as PTX defines min and max. */
const least: Operation = (x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.min(x, y));
const most: Operation = (x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.max(x, y));

/** By name without rounding modes and types. Results of float operations are rounded to float32. */
const FLOATS: Readonly<Record<string, Operation>> = {
  mov: (x) => x,
  neg: (x) => -x,
  abs: Math.abs,
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
  fma: (x, y, z) => x * y + z,
  min: least,
  max: most,
  sqrt: Math.sqrt,
  rsqrt: (x) => 1 / Math.sqrt(x),
  rcp: (x) => 1 / x,
  ex2: (x) => 2 ** x,
  lg2: Math.log2,
  copysign: (sign, x) => (sign < 0 || Object.is(sign, -0) ? -Math.abs(x) : Math.abs(x)),
};
const WORDS: Readonly<Record<string, Operation>> = {
  add: (x, y) => (x + y) | 0,
  sub: (x, y) => (x - y) | 0,
  and: (x, y) => x & y,
  shl: (x, y) => x << y,
};
const COMPARISONS: Readonly<Record<string, (x: number, y: number) => boolean>> = {
  lt: (x, y) => x < y,
  ge: (x, y) => x >= y,
  gt: (x, y) => x > y,
  eq: (x, y) => x === y,
  ltu: (x, y) => !(x >= y),
};

/** Registers of a block by their names; those of outer blocks are found through it. */
class Scope {
  private readonly prefixes = new Set<string>();
  private readonly values = new Map<string, number>();

  constructor(readonly outer?: Scope) {}

  declare(prefix: string): void {
    this.prefixes.add(prefix);
  }

  private owner(name: string): Scope {
    const prefix = name.replace(/\d+$/, "");
    return this.prefixes.has(prefix) || !this.outer ? this : this.outer.owner(name);
  }

  get(name: string): number {
    const value = this.owner(name).values.get(name);
    if (value === undefined) throw new Error(`${name} is read before it is written`);
    return value;
  }

  set(name: string, value: number): void {
    this.owner(name).values.set(name, value);
  }
}

/** One run over a list of lines. */
class Run {
  private scope: Scope;
  /** The label that a taken branch looks for. */
  private sought: string | undefined;

  constructor(registers: Readonly<Record<string, number>>) {
    this.scope = new Scope();
    for (const [name, value] of Object.entries(registers)) this.scope.set(name, value);
  }

  get(name: string): number {
    return this.scope.get(name);
  }

  step(line: string): void {
    if (line === "{") this.scope = new Scope(this.scope);
    else if (line === "}") this.scope = this.scope.outer!;
    else if (line.startsWith(".reg"))
      for (const [, prefix] of line.matchAll(/(%\w*[a-z])</g)) this.scope.declare(prefix!);
    else if (line.endsWith(":")) this.sought = this.sought === line.slice(0, -1) ? undefined : this.sought;
    else if (this.sought === undefined) this.execute(line);
  }

  private execute(line: string): void {
    const [, negated, condition, name, list] = /^(?:@(!?)(%\w+)\s+)?([\w.]+)\s+(.*);$/.exec(line)!;
    if (condition && (this.get(condition) !== 0) === (negated === "!")) return;
    const [to, ...from] = list!.split(",").map((word) => word.trim()) as [string, ...string[]];
    if (name!.startsWith("bra")) this.sought = to;
    else this.scope.set(to, this.compute(name!, from));
  }

  private compute(name: string, from: readonly string[]): number {
    const [operation, ...modes] = name.split(".") as [string, ...string[]];
    const type = modes.at(-1)!;
    const operands = from.map((word) => this.value(word));
    const [x, y] = operands as [number, number];
    if (operation === "setp")
      return Number(COMPARISONS[modes[0]!]!(type === "u32" ? x >>> 0 : x, type === "u32" ? y >>> 0 : y));
    if (operation === "selp") return operands[2] !== 0 ? x : y;
    if (operation === "cvt") return modes.includes("sat") ? Math.min(Math.max(x, 0), 1) : fround(x);
    if (operation === "mov" && type === "b32") return from[0]!.startsWith("%f") ? wordOf(x) : floatOf(x);
    const known = type === "f32" ? FLOATS[operation] : WORDS[operation];
    if (!known) throw new Error(`expected an instruction that is known, got ${name}`);
    const result = known(...operands);
    if (type !== "f32") return result;
    return modes.includes("rm") ? roundedDown(result) : fround(result);
  }

  private value(word: string): number {
    if (word.startsWith("%")) return this.get(word);
    return word.startsWith("0f") ? floatOf(Number.parseInt(word.slice(2), 16)) : Number(word);
  }
}

/** What `result` has after the lines have run. registers: those that are there before. Moves of 32 bits are between float and integer registers.
 *  @throws Error for an instruction that it does not know */
export function evaluatePtx(
  lines: readonly string[],
  registers: Readonly<Record<string, number>>,
  result: string,
): number {
  const run = new Run(registers);
  for (const line of lines) run.step(line);
  return run.get(result);
}
