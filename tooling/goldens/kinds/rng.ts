import {
  CpuGenerator,
  fromBfloat16Array,
  fromFloat16Array,
  type HalfAlgorithm,
  PhiloxGenerator,
  type RandomDtype,
} from "@vd/tensor";
import { exact, maxAbs } from "../compare";
import type { Fixture, GoldenKind, TensorCheck } from "../kind";

const cpuSequence = [3, 4, 17, 1, 16, 2];
const cudaSequence = [3, 4, 17, 5000, 2];
/** Of each call of the CUDA sequence the first elements are kept. */
const cudaSequenceKept = 32;
const nextAfterBig = 8;

/** A golden and the parts of its name. */
interface Golden {
  fixture: Fixture;
  name: string;
  groups: Record<string, string>;
}

type Checker = (golden: Golden) => TensorCheck;

function valuesOf(numbers: Float32Array | Float64Array | Uint16Array, dtype: string): ArrayLike<number> {
  if (!(numbers instanceof Uint16Array)) return numbers;
  return dtype === "float16" ? fromFloat16Array(numbers) : fromBfloat16Array(numbers);
}

function concatenated(parts: readonly Float32Array[]): Float32Array {
  return Float32Array.from(parts.flatMap((part) => Array.from(part)));
}

/**
 * One unit in the last place of a 16-bit type, at the size of each golden; for the smallest values, whose units are
 * finer than the error that float32 normals may have, that error.
 */
function within1Ulp({ name, fixture }: Golden, ours: ArrayLike<number>, dtype: string): TensorCheck {
  const golden = fixture.float64(name);
  const [bits, minExponent] = dtype === "float16" ? [10, -14] : [7, -126];
  const ulp = (value: number) => 2 ** (Math.max(Math.floor(Math.log2(Math.abs(value))), minExponent) - bits);
  const scaled = Float64Array.from(
    golden,
    (value, i) => (ours[i]! - value) / Math.max(ulp(value), floatTolerance(fixture)),
  );
  const check = maxAbs(name, scaled, new Float64Array(golden.length), 1);
  return { ...check, note: "in units of the last place" };
}

function floatTolerance(fixture: Fixture): number {
  return fixture.json.tolerance.float32?.maxabs ?? 4e-6;
}

function compare(checked: Golden, ours: ArrayLike<number>, dtype: string, isCuda: boolean): TensorCheck {
  const { fixture, name } = checked;
  const golden = fixture.float64(name);
  if (dtype === "float32") return maxAbs(name, ours, golden, floatTolerance(fixture));
  if (dtype === "float64") return maxAbs(name, ours, golden, fixture.json.tolerance.float64?.maxabs ?? 1e-14);
  return isCuda ? within1Ulp(checked, ours, dtype) : exact(name, ours, golden);
}

function cpuGenerator({ groups, fixture }: Golden): CpuGenerator {
  const known: Record<string, HalfAlgorithm> = { "2.11": "torch-2.11", "2.13": "torch-2.13" };
  const stated = /torch (\d+\.\d+)/.exec(fixture.json.reference?.version ?? "")?.[1];
  const halfAlgorithm = known[groups.version ?? stated ?? ""] ?? "torch-2.11";
  return new CpuGenerator(BigInt(groups.seed!), { halfAlgorithm });
}

function cudaGenerator({ groups, fixture }: Golden): PhiloxGenerator {
  const { sms, max_threads_per_sm: threads } = fixture.json.gpu ?? {};
  return new PhiloxGenerator(BigInt(groups.seed!), {
    ...(sms !== undefined && { multiprocessors: sms }),
    ...(threads !== undefined && { threadsPerMultiprocessor: threads }),
  });
}

function afterCudaSequence(golden: Golden): { generator: PhiloxGenerator; values: Float32Array } {
  const generator = cudaGenerator(golden);
  const kept = cudaSequence.map((count) => generator.randn(count).subarray(0, cudaSequenceKept));
  return { generator, values: concatenated(kept) };
}

function afterBig(golden: Golden): { generator: PhiloxGenerator; values: Float32Array } {
  const generator = cudaGenerator(golden);
  const count = golden.fixture.float64("out.cuda.big.n")[0]!;
  return { generator, values: generator.randn(count) };
}

const seed = String.raw`(?<seed>-?\d+)`;
const count = String.raw`(?<count>\d+)`;
const dtype = "(?<dtype>float32|float64|float16|bfloat16)";
const cpu = String.raw`out\.cpu(@(?<version>[\d.]+))?`;

/** Name patterns and what they check. */
const checkers: readonly [RegExp, Checker][] = [
  [
    new RegExp(`^${cpu}\\.randn\\.${seed}\\.${count}\\.${dtype}$`),
    (golden) => {
      const type = golden.groups.dtype as RandomDtype;
      const numbers = cpuGenerator(golden).randn(Number(golden.groups.count), type);
      return compare(golden, valuesOf(numbers, type), type, false);
    },
  ],
  [
    new RegExp(`^${cpu}\\.rand\\.${seed}\\.${count}\\.${dtype}$`),
    (golden) => {
      const type = golden.groups.dtype as RandomDtype;
      const numbers = cpuGenerator(golden).rand(Number(golden.groups.count), type);
      return exact(golden.name, valuesOf(numbers, type), golden.fixture.float64(golden.name));
    },
  ],
  [
    new RegExp(`^${cpu}\\.sequence\\.${seed}$`),
    (golden) => {
      const generator = cpuGenerator(golden);
      const numbers = concatenated(cpuSequence.map((length) => generator.randn(length)));
      return compare(golden, numbers, "float32", false);
    },
  ],
  [
    new RegExp(`^${cpu}\\.raw32\\.${seed}$`),
    (golden) => {
      const generator = cpuGenerator(golden);
      const values = golden.fixture.float64(golden.name);
      const draws = Array.from(values, () => Number(generator.random64() & 0xffff_ffffn));
      return exact(golden.name, draws, values);
    },
  ],
  [
    new RegExp(`^out\\.cuda\\.randn\\.${seed}\\.${count}\\.${dtype}$`),
    (golden) => {
      const type = golden.groups.dtype as "float32" | "float16" | "bfloat16";
      const numbers = cudaGenerator(golden).randn(Number(golden.groups.count), type);
      return compare(golden, valuesOf(numbers, type), type, true);
    },
  ],
  [
    new RegExp(`^out\\.cuda\\.sequence\\.${seed}$`),
    (golden) => compare(golden, afterCudaSequence(golden).values, "float32", true),
  ],
  [
    new RegExp(`^out\\.cuda\\.offset_after_sequence\\.${seed}$`),
    (golden) => exact(golden.name, [afterCudaSequence(golden).generator.offset], golden.fixture.float64(golden.name)),
  ],
  [
    new RegExp(`^out\\.cuda\\.big\\.${seed}\\.values$`),
    (golden) => {
      const { values } = afterBig(golden);
      const picked = Array.from(golden.fixture.float64("out.cuda.big.index"), (index) => values[index]!);
      return compare(golden, picked, "float32", true);
    },
  ],
  [
    new RegExp(`^out\\.cuda\\.big\\.${seed}\\.next$`),
    (golden) => compare(golden, afterBig(golden).generator.randn(nextAfterBig), "float32", true),
  ],
  [
    new RegExp(`^out\\.cuda\\.big\\.${seed}\\.offset$`),
    (golden) => {
      // Read after the `next` draw.
      const { generator } = afterBig(golden);
      generator.randn(nextAfterBig);
      return exact(golden.name, [generator.offset], golden.fixture.float64(golden.name));
    },
  ],
];

/** Inputs of other tensors, not results. */
const inputs = new Set(["out.cuda.big.n", "out.cuda.big.index"]);

/** Every random number tensor, recognised by its name; a name that nothing here knows fails. */
export const rngKind: GoldenKind = {
  kind: "rng",
  async *run(fixture) {
    for (const name of fixture.names) {
      if (inputs.has(name)) continue;
      const found = checkers
        .map(([pattern, check]) => ({ match: pattern.exec(name), check }))
        .find(({ match }) => match);
      if (found?.match) yield found.check({ fixture, name, groups: found.match.groups ?? {} });
      else yield { name, metric: "exact", error: Number.NaN, tolerance: 0, ok: false, note: "unknown kind of number" };
    }
  },
};
