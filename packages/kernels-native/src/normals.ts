import { types } from "node:util";
import type { FLOATS } from "../contract/dtype";
import { requireArgument, requireOptions, wholeFrom } from "./arguments";
import { dtypeIndex } from "./checked-contract";
import { environment } from "./env";
import { awaitNative, callNative, VdError } from "./errors";
import { loadAddon } from "./load";

/** What {@link fillNormals} makes of unit normals: mean + scale · normal, each operation rounded to `dtype`. */
export interface NormalsOptions {
  /** Default 1. */
  scale?: number | undefined;
  /** A mean for each number; default: none. Neither `values` nor a part of them. */
  mean?: Float32Array | undefined;
  /** Default f32. */
  dtype?: (typeof FLOATS)[number] | undefined;
  /** Instruction set, as of `CpuOptions`; all give the same bits. */
  isa?: string | undefined;
}

/**
 * `count` zeros in memory that worker threads use in place: no JavaScript can take it away from them.
 *
 * @throws VdError `attr` for what is no count, `memory` for more than there is
 * @example
 * ```ts
 * import { sharedFloats } from "@vd/kernels-native";
 *
 * const values = sharedFloats(2); // worker threads use it in place
 * values.set([0.1, 0.2]);
 * console.log(values);
 * ```
 */
export function sharedFloats(count: number): Float32Array {
  requireArgument("sharedFloats", count, wholeFrom(0));
  const bytes = count * Float32Array.BYTES_PER_ELEMENT;
  try {
    return new Float32Array(new SharedArrayBuffer(bytes));
  } catch (cause) {
    const expected = `${bytes} bytes of memory`;
    throw new VdError({ code: "memory", where: "sharedFloats", expected, got: (cause as Error).message, cause });
  }
}

function isShared(values: Float32Array, name: string): boolean {
  if (types.isFloat32Array(values)) return types.isSharedArrayBuffer(values.buffer);
  throw new VdError({ code: "attr", where: `fillNormals ${name}`, expected: "a Float32Array", got: String(values) });
}

/** The numbers in shared memory: themselves or a copy. */
function sharedMean(mean: Float32Array): Float32Array {
  if (isShared(mean, "mean")) return mean;
  const copy = sharedFloats(mean.length);
  copy.set(mean);
  return copy;
}

/**
 * What the 624 words of an MT19937 give when they are drawn, one after the other, and the state that they belong to: a
 * new one where all words of `state` were drawn, else the same. state: as of {@link fillNormals}; it stays as it is.
 *
 * @throws VdError `attr` for anything but a state
 */
export function mersenneDraws(state: Uint32Array): { state: Uint32Array; draws: Uint32Array } {
  return callNative(() => loadAddon().mersenneDraws(state));
}

/**
 * Fills `values` with the normals that torch.randn draws on the CPU in float32, on a worker thread, and resolves to the
 * generator's state afterwards. Arrays of {@link sharedFloats} are used in place, and must be left alone until then;
 * others are copied. state: the 624 words of MT19937, then the position of the next one; it stays as it is. values: at
 * least 16, since torch draws fewer in another way. Source: pytorch/pytorch
 * aten/src/ATen/native/cpu/DistributionTemplates.h `normal_fill`.
 *
 * @throws VdError `attr`, `dtype`, `shape` or `layout` for arguments that do not fit
 */
export async function fillNormals(
  state: Uint32Array,
  values: Float32Array,
  options: NormalsOptions = {},
): Promise<Uint32Array> {
  requireOptions("fillNormals", options);
  const { scale = 1, mean, dtype = "f32", isa = environment.cpuIsa() ?? "best" } = options;
  const target = isShared(values, "values") ? values : sharedFloats(values.length);
  const after = await awaitNative(() =>
    loadAddon().fillNormals(state, target, scale, dtypeIndex(dtype), mean && sharedMean(mean), isa),
  );
  if (target !== values) copyBack(target, values);
  return after;
}

function copyBack(from: Float32Array, to: Float32Array): void {
  if (to.length !== from.length) {
    const [expected, got] = [`the ${from.length} numbers that it had`, String(to.length)];
    throw new VdError({ code: "layout", where: "fillNormals values", expected, got });
  }
  to.set(from);
}
