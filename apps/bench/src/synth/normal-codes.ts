import { float32ToFloat16 } from "@vd/tensor";

/** Entries of a table of normal numbers; 16 random bits choose one. */
const TABLE_LENGTH = 65_536;

const CENTRAL_NUMERATOR = [
  -3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.38357751867269e2, -3.066479806614716e1,
  2.506628277459239,
];
const CENTRAL_DENOMINATOR = [
  -5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1, 1,
];
const TAIL_NUMERATOR = [
  -7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734, 4.374664141464968,
  2.938163982698783,
];
const TAIL_DENOMINATOR = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1];
/** Probability up to which the tail's formula holds. */
const TAIL = 0.02425;

const polynomial = (coefficients: readonly number[], x: number) => coefficients.reduce((sum, c) => sum * x + c, 0);

/** The normal number below which the share `p` of all lies, 0 < p < 1; relative error 1.2e-9.
 *  Source: Peter J. Acklam, "An algorithm for computing the inverse normal cumulative distribution function", 2003. */
export function inverseNormal(p: number): number {
  if (p > 1 - TAIL) return -inverseNormal(1 - p);
  if (p < TAIL) {
    const q = Math.sqrt(-2 * Math.log(p));
    return polynomial(TAIL_NUMERATOR, q) / polynomial(TAIL_DENOMINATOR, q);
  }
  const q = p - 0.5;
  return (polynomial(CENTRAL_NUMERATOR, q * q) * q) / polynomial(CENTRAL_DENOMINATOR, q * q);
}

const standardNormals = Float64Array.from({ length: TABLE_LENGTH }, () => 0);

function normals(): Float64Array {
  if (standardNormals[0] === 0)
    for (let i = 0; i < TABLE_LENGTH; i++) standardNormals[i] = inverseNormal((i + 0.5) / TABLE_LENGTH);
  return standardNormals;
}

/** float16 codes of normal numbers of `mean` and `deviation`, equally likely: [65536]. */
export function normalCodes(mean: number, deviation: number): Uint16Array {
  return Uint16Array.from(normals(), (z) => float32ToFloat16(mean + deviation * z));
}

/** Four words from any text: FNV-1a, then the finaliser of MurmurHash3 on each.
 *  Sources: http://www.isthe.com/chongo/tech/comp/fnv, aappleby/smhasher src/MurmurHash3.cpp. */
function wordsOf(text: string): [number, number, number, number] {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  const mixed = (salt: number) => {
    let h = (hash + Math.imul(salt, 0x9e3779b9)) | 0;
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    return (h ^ (h >>> 16)) | 1;
  };
  return [mixed(1), mixed(2), mixed(3), mixed(4)];
}

/** Fills `codes` with entries of a table [65536] that `label` decides: xoshiro128**, two entries a word.
 *  Source: https://prng.di.unimi.it/xoshiro128starstar.c. */
export function fillFromTable(codes: Uint16Array, table: Uint16Array, label: string): void {
  let [a, b, c, d] = wordsOf(label);
  for (let i = 0; i < codes.length; i += 2) {
    const scaled = Math.imul(b, 5);
    const word = Math.imul((scaled << 7) | (scaled >>> 25), 9);
    codes[i] = table[word & 0xffff]!;
    codes[i + 1] = table[word >>> 16]!; // Beyond the end of an odd length nothing happens.
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = (d << 11) | (d >>> 21);
  }
}
