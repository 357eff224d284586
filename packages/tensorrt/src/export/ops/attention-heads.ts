import type { ExportContext, NamedRow } from "../context";

/** Queries or keys with heads apart, [N, sequence, …, heads, width]. */
interface Heads {
  name: string;
  dims: readonly number[];
}

/** Which operands change q and k before the product. */
const OPERANDS = { q: { norm: "normQ", rotary: "rotaryQ" }, k: { norm: "normK", rotary: "rotaryK" } } as const;

/** Elements `begin`, `begin + step`, … before `end` of the last axis. */
const lastAxis = (c: ExportContext, x: string, begin: number, end: number, step = 1) => c.part(x, -1, begin, end, step);

/** x divided by the root mean square of each head, in float32, times a weight. */
function normalised(c: ExportContext, row: NamedRow, x: string, norm: "normQ" | "normK"): string {
  const wide = c.widened(x);
  const square = c.writer.node("Mul", [wide, wide]);
  const mean = c.writer.node("ReduceMean", [square, c.writer.ints([-1])], { keepdims: 1 });
  const eps = row.attrs.normEps as number;
  const shifted = c.writer.node("Add", [mean, c.writer.floats(`eps[${eps}]`, Float32Array.of(eps), [])]);
  const y = c.narrowed(c.writer.node("Div", [wide, c.writer.node("Sqrt", [shifted])]));
  const suffix = norm === "normQ" ? "norm_q.weight" : "norm_k.weight";
  return c.writer.node("Mul", [y, c.parameter(row.inputs[norm]!, suffix, row.name)]);
}

/** Cosines and sines of a table, in a shape that heads are broadcast with: [sequence, 1, …, R/2]. */
function anglesOf(c: ExportContext, row: NamedRow, table: "rotaryQ" | "rotaryK", dims: readonly number[]): string[] {
  const width = row.inputs[table]!.dims[1]!;
  const all = c.read(row.inputs[table]!, row.name).rows();
  return [0, 1].map((first) => {
    const part = lastAxis(c, all, first, width, 2);
    const shape = [dims[1]!, ...dims.slice(2).map(() => 1), 1, width / 2];
    const shaped = c.writer.node("Reshape", [part, c.sizes.shape(shape, [shape.length - 1])]);
    return c.type === "float" ? shaped : c.cast(shaped, "float16");
  });
}

/** Pairs of the first channels of each head rotated. */
function rotated(c: ExportContext, row: NamedRow, { name, dims }: Heads, table: "rotaryQ" | "rotaryK"): string {
  const turned = row.inputs[table]!.dims[1]!;
  const [cos, sin] = anglesOf(c, row, table, dims.slice(0, -2)) as [string, string];
  const isAdjacent = row.attrs.pairs === "adjacent";
  const half = turned / 2;
  const a = isAdjacent ? lastAxis(c, name, 0, turned, 2) : lastAxis(c, name, 0, half);
  const b = isAdjacent ? lastAxis(c, name, 1, turned, 2) : lastAxis(c, name, half, turned);
  const product = (x: string, y: string) => c.writer.node("Mul", [x, y]);
  const parts = [
    c.writer.node("Sub", [product(a, cos), product(b, sin)]),
    c.writer.node("Add", [product(a, sin), product(b, cos)]),
  ];
  const width = dims[dims.length - 1]!;
  const rest = width > turned ? [lastAxis(c, name, turned, width)] : [];
  if (!isAdjacent) return c.writer.node("Concat", [...parts, ...rest], { axis: -1 });
  const pairs = parts.map((part) => c.writer.node("Unsqueeze", [part, c.writer.ints([-1])]));
  const shape = c.sizes.shape([...dims.slice(0, -1), turned], [dims.length - 2, dims.length - 1]);
  const joined = c.writer.node("Reshape", [c.writer.node("Concat", pairs, { axis: -1 }), shape]);
  return rest.length > 0 ? c.writer.node("Concat", [joined, ...rest], { axis: -1 }) : joined;
}

/** Heads of q or k as the product takes them: normalised, then rotated, where the call asks for it. */
export function preparedHeads(c: ExportContext, row: NamedRow, operand: "q" | "k", heads: Heads): string {
  const { norm, rotary } = OPERANDS[operand];
  const name = row.inputs[norm] ? normalised(c, row, heads.name, norm) : heads.name;
  return row.inputs[rotary] ? rotated(c, row, { ...heads, name }, rotary) : name;
}
