import { type DType, openDevice } from "@vd/kernels-native";
import { type Graph, layoutGraph, Plan, type Tensor } from "@vd/tensor";
import { maxAbs, relativeL2 } from "./compare";
import type { Fixture, GoldenContext, TensorCheck } from "./kind";

/** A golden tensor, and the name under which the graph gives ours. */
export interface Expectation {
  golden: string;
  ours: string;
}

const DTYPES = { float32: "f32", float16: "f16", bfloat16: "bf16" } as const satisfies Record<string, DType>;

/** The type of activations: what was asked for, but float32 on the CPU, which has no other. */
export const activationDtype = ({ device, dtype }: GoldenContext): DType => (device === "cpu" ? "f32" : DTYPES[dtype]);

/** What a model's check needs. */
export interface ModelRun {
  fixture: Fixture;
  context: GoldenContext;
  /** Records the model; inputs by name. */
  build(g: Graph): void;
  inputs: Readonly<Record<string, ArrayLike<number>>>;
  expectations: readonly Expectation[];
  /** Goldens of five dimensions are (b,c,f,h,w); default: those that say so in their names. */
  framesInside?: boolean;
}

/** The planes of ours in golden order. ours: [B,F,H,W,C] → (b·f,c,h,w), or (b,c,f,h,w) if `framesInside`. */
function planes(values: Float32Array, dims: readonly number[], framesInside: boolean): Float32Array {
  const [b, f, h, w, c] = dims as [number, number, number, number, number];
  const result = new Float32Array(values.length);
  const area = h * w;
  for (let frame = 0; frame < b * f; frame++)
    for (let pixel = 0; pixel < area; pixel++)
      for (let channel = 0; channel < c; channel++) {
        const outer = framesInside ? (Math.floor(frame / f) * c + channel) * f + (frame % f) : frame * c + channel;
        result[outer * area + pixel] = values[(frame * area + pixel) * c + channel]!;
      }
  return result;
}

/** Ours in the order of the golden called `name` with `rank` dimensions. framesInside: as in {@link ModelRun}. */
export function inGoldenOrder(
  values: Float32Array,
  dims: readonly number[],
  name: string,
  rank: number,
  framesInside = name.includes("(b,c,f,h,w)"),
): Float32Array {
  const isPicture = dims.length === 5 && rank >= 4;
  return isPicture ? planes(values, dims, framesInside) : values;
}

/** What the reference computes for every clip and we compute once, repeated to the golden's length. */
export function repeated(values: Float32Array, length: number): Float32Array {
  const copies = length / values.length;
  if (!Number.isInteger(copies) || copies <= 1) return values;
  const all = new Float32Array(values.length * copies);
  for (let i = 0; i < copies; i++) all.set(values, i * values.length);
  return all;
}

/** The row that computed `tensor`, so that checks come in the order of computation. */
function rowOf(g: Graph, tensor: Tensor): number {
  return g.rows.findLastIndex((row) => row.outputs.some((output) => output?.storage === tensor.storage));
}

/** What to say of a golden whose module keeps no result of its own. */
const notKept = ({ golden, ours }: Expectation): TensorCheck => ({
  ...{ name: golden, metric: "exact", error: Number.NaN, tolerance: 0, ok: false },
  note: `no result is kept under ${ours}`,
});

type Limits = { rel_l2: number; maxabs?: number };

/** Compares by relative L2 and, where the fixture states one, by the worst difference. */
export function* withinLimits(
  name: string,
  ours: ArrayLike<number>,
  golden: ArrayLike<number>,
  limits: Limits,
): Generator<TensorCheck> {
  yield relativeL2(name, ours, golden, limits.rel_l2);
  if (limits.maxabs !== undefined) yield maxAbs(name, ours, golden, limits.maxabs);
}

/** Runs a model once and compares every expected tensor, in the order in which the model computes them. */
export async function* runModel({
  fixture,
  context,
  build,
  inputs,
  expectations,
  framesInside,
}: ModelRun): AsyncGenerator<TensorCheck> {
  const device = openDevice(context.device);
  const taps = new Set(expectations.map(({ ours }) => ours));
  const plan = await Plan.load(device, layoutGraph(build, { taps, dtype: activationDtype(context) }));
  try {
    for (const [name, data] of Object.entries(inputs)) plan.writeSync(name, data);
    await plan.run();
    const { graph } = plan.layout;
    const limits = fixture.json.tolerance[context.dtype] as Limits;
    const kept = expectations.filter(({ ours }) => graph.outputs.has(ours));
    yield* expectations.filter((e) => !kept.includes(e)).map(notKept);
    const order = ({ ours }: Expectation) => rowOf(graph, graph.outputs.get(ours)!);
    for (const { golden, ours } of kept.sort((a, b) => order(a) - order(b))) {
      const dims = graph.outputs.get(ours)!.dims;
      const rank = fixture.shape(golden).length;
      const inside = framesInside === undefined ? undefined : framesInside && rank === 5;
      const values = inGoldenOrder(plan.readSync(ours), dims, golden, rank, inside);
      const expected = fixture.float64(golden);
      yield* withinLimits(golden, repeated(values, expected.length), expected, limits);
    }
  } finally {
    plan.freeSync();
  }
}

/** The fixture's `out.<prefix><label>` for each label that is stored, matched to module paths by its hooks. */
export function hooked(fixture: Fixture, prefix = "", root = ""): Expectation[] {
  const hooks = fixture.json.meaning.hooks as Record<string, string>;
  return fixture.names
    .filter((name) => name.startsWith(`out.${prefix}`))
    .map((golden) => ({ golden, label: golden.slice(`out.${prefix}`.length) }))
    .flatMap(({ golden, label }) => {
      const path = hooks[label.replace("(b,c,f,h,w)", "")] ?? hooks[label];
      return path ? [{ golden, ours: root + path }] : [];
    });
}
