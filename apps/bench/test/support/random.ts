/** Numbers that are the same in every run: uniform in [0, 1), and of the standard normal distribution. seed: 32 bits.
 *  Source: Marsaglia, Xorshift RNGs, 2003; Box and Muller, 1958. */
export function randomNumbers(seed: number) {
  let state = seed >>> 0 || 1;
  const uniform = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}
