import { allocateBuffer, countOf } from "@vd/kernels-native";
import { CpuGenerator, makeStorage, packedTensor, type Tensor, type Weights } from "@vd/tensor";

/** A seed out of a name. Source: http://www.isthe.com/chongo/tech/comp/fnv (FNV-1a). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0;
  return hash;
}

/** Random numbers that all weights share, each from its own place on: millions of new ones would take seconds. */
const POOL = new CpuGenerator(1).randn(2 ** 16);

/** Values of the size that a trained layer has: norms scale by about 1, filters keep the size of what they filter. */
function valuesOf(path: string, dims: readonly number[]): Float32Array {
  const begin = hashOf(path);
  const [centre, spread] =
    dims.length > 1 ? [0, 1 / Math.sqrt(countOf(dims.slice(1)))] : [path.endsWith("weight") ? 1 : 0, 0.1];
  const values = new Float32Array(countOf(dims));
  for (let i = 0; i < values.length; i++) values[i] = centre + spread * POOL[(begin + i) % POOL.length]!;
  return values;
}

function tensorOf(values: Float32Array, dims: readonly number[]): Tensor {
  const buffer = allocateBuffer(values.byteLength);
  buffer.writeSync(values);
  return packedTensor(makeStorage("weights", values.byteLength, "random", { buffer, byteOffset: 0 }), dims, "f32");
}

/** Weights of whatever name and shape a model asks for: the same name and shape give the same values. */
class RandomWeights {
  constructor(
    readonly path: string,
    private readonly asked: Set<string>,
  ) {}

  at(name: string | number): RandomWeights {
    return new RandomWeights(this.full(String(name)), this.asked);
  }

  tensor(name: string, dims: readonly number[]): Tensor {
    this.asked.add(this.full(name));
    return tensorOf(valuesOf(this.full(name), dims), dims);
  }

  /** Whether a weight is there is asked only for names that other files have. */
  has(): boolean {
    return false;
  }

  stackRows(names: readonly string[], dims: readonly number[]): Tensor {
    const stacked = new Float32Array(names.length * countOf(dims));
    names.forEach((name, i) => {
      stacked.set(valuesOf(this.full(name), dims), i * countOf(dims));
    });
    return tensorOf(stacked, [dims[0]! * names.length, ...dims.slice(1)]);
  }

  scalar(name: string): number {
    return valuesOf(this.full(name), [1])[0]! * 10;
  }

  private full(name: string): string {
    return this.path ? `${this.path}.${name}` : name;
  }
}

/** A model's weights made of random numbers, and the names that it asked for. */
export function randomWeights(): { weights: Weights; asked: Set<string> } {
  const asked = new Set<string>();
  // The class has a private constructor; models use no more of it than this.
  return { weights: new RandomWeights("", asked) as unknown as Weights, asked };
}
