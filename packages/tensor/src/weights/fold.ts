import { having, numberFrom, optional, requireFields, VdError } from "@vd/kernels-native";

/** A convolution's weights and the running statistics of the batch norm behind it; all vectors are [K]. */
export interface BatchNormFold {
  /** Filters, [K,…]. */
  weight: ArrayLike<number>;
  /** The convolution's own bias, if it has one. */
  bias?: ArrayLike<number> | undefined;
  /** Learned scale and shift of the batch norm. */
  scale: ArrayLike<number>;
  shift: ArrayLike<number>;
  mean: ArrayLike<number>;
  variance: ArrayLike<number>;
  /** Added to the variance. */
  eps: number;
}

/** Weights of one convolution that does the work of both. */
export interface FoldedWeights {
  weight: Float32Array;
  bias: Float32Array;
}

/** All of a fold but the filters. */
export type BatchNormVectors = Omit<BatchNormFold, "weight">;

const NUMBERS = having("a list of numbers", ["length"]);
const VECTORS = {
  ...{ scale: NUMBERS, shift: NUMBERS, mean: NUMBERS, variance: NUMBERS },
  ...{ bias: optional(NUMBERS), eps: numberFrom(0) },
};

function checkVectors({ bias, scale, shift, mean, variance }: BatchNormVectors): void {
  const channels = scale.length;
  const vectors = { shift, mean, variance, ...(bias ? { bias } : {}) };
  for (const [name, vector] of Object.entries(vectors))
    if (vector.length !== channels)
      throw new VdError({
        code: "shape",
        where: `foldBatchNorm] [${name}`,
        expected: `${channels} numbers, as many as scale has`,
        got: String(vector.length),
      });
}

function checkLengths({ weight, ...vectors }: BatchNormFold): void {
  checkVectors(vectors);
  const channels = vectors.scale.length;
  if (channels === 0 || weight.length === 0 || weight.length % channels !== 0)
    throw new VdError({
      code: "shape",
      where: "foldBatchNorm] [weight",
      expected: `a multiple of ${channels} numbers, more than none`,
      got: String(weight.length),
    });
}

/** What a batch norm multiplies channel k by. */
const factorOf = ({ scale, variance, eps }: BatchNormVectors, k: number) => scale[k]! / Math.sqrt(variance[k]! + eps);

/**
 * Returns the bias of {@link foldBatchNorm} alone, without a look at the filters.
 *
 * @throws VdError `shape`
 */
export function foldedBias(vectors: BatchNormVectors): Float32Array {
  checkVectors(vectors);
  const { bias, shift, mean } = vectors;
  return Float32Array.from(vectors.scale, (_, k) => ((bias?.[k] ?? 0) - mean[k]!) * factorOf(vectors, k) + shift[k]!);
}

/**
 * Merges a batch norm that uses its running statistics into the convolution before it: with f = scale / sqrt(variance +
 * eps), weight[k] · f[k] and (bias[k] − mean[k]) · f[k] + shift[k], in float64, stored as float32. weight: [K,…], all
 * others: [K] → weight [K,…], bias [K]. Source: https://arxiv.org/abs/1502.03167 algorithm 2, eq. 11.
 *
 * @throws VdError `shape`
 */
export function foldBatchNorm(layers: BatchNormFold): FoldedWeights {
  requireFields("foldBatchNorm", layers, { ...VECTORS, weight: NUMBERS });
  checkLengths(layers);
  const { weight, scale } = layers;
  const channels = scale.length;
  const perChannel = weight.length / channels;
  const folded: FoldedWeights = { weight: new Float32Array(weight.length), bias: foldedBias(layers) };
  for (let k = 0; k < channels; k++) {
    const factor = factorOf(layers, k);
    for (let i = k * perChannel; i < (k + 1) * perChannel; i++) folded.weight[i] = weight[i]! * factor;
  }
  return folded;
}
