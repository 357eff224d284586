const round = Math.fround;

/**
 * Returns the level to go down to and the noise to add on top, so that both together make `to`; `eta` scales the noise. float32;
 * where the rounding of a long step makes a variance negative, and the reference NaN, it is 0. Source:
 * crowsonkb/k-diffusion@4601bf0 k_diffusion/sampling.py `get_ancestral_step`.
 */
export function ancestralSplit(from: number, to: number, eta = 1): { down: number; up: number } {
  const fromVariance = round(from * from);
  const toVariance = round(to * to);
  const upVariance = round(round(toVariance * round(fromVariance - toVariance)) / fromVariance);
  const up = Math.min(to, round(eta * round(Math.sqrt(upVariance))));
  return { up, down: round(Math.sqrt(Math.max(0, round(toVariance - round(up * up))))) };
}
