/** Four unsigned 32-bit words. */
export type PhiloxWords = Uint32Array;

const multiplierA = 0xd251_1f53;
const multiplierB = 0xcd9e_8d57;
const weylA = 0x9e37_79b9;
const weylB = 0xbb67_ae85;
const numRounds = 10;

/** The high word of the 64-bit product of two unsigned 32-bit integers. */
function multiplyHigh(a: number, b: number): number {
  const low = a * (b & 0xffff);
  const high = a * (b >>> 16);
  return Math.floor((high + Math.floor(low / 0x1_0000)) / 0x1_0000);
}

/**
 * Philox4x32-10: the four words that a counter of four words and a key of two give, written into `words`. Source:
 * J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
 */
export function philox4x32(counter: ArrayLike<number>, key: { low: number; high: number }, words: PhiloxWords): void {
  let c0 = counter[0]! >>> 0;
  let c1 = counter[1]! >>> 0;
  let c2 = counter[2]! >>> 0;
  let c3 = counter[3]! >>> 0;
  let k0 = key.low;
  let k1 = key.high;
  for (let i = 0; i < numRounds; i++) {
    const highA = multiplyHigh(multiplierA, c0);
    const highB = multiplyHigh(multiplierB, c2);
    const lowA = Math.imul(multiplierA, c0) >>> 0;
    const lowB = Math.imul(multiplierB, c2) >>> 0;
    c0 = (highB ^ c1 ^ k0) >>> 0;
    c1 = lowB;
    c2 = (highA ^ c3 ^ k1) >>> 0;
    c3 = lowA;
    k0 = (k0 + weylA) >>> 0;
    k1 = (k1 + weylB) >>> 0;
  }
  words[0] = c0;
  words[1] = c1;
  words[2] = c2;
  words[3] = c3;
}
