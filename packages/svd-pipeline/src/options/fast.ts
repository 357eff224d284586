/** What `fast` sets where the options are not given. Measured beside the exact run by `vd-bench quality`. */
export const FAST = { featureInterval: 2, skipThreshold: 0.05, guidanceMinSigma: 0.2 } as const;

/** The same in words. */
export const FAST_TEXT = Object.entries(FAST)
  .map(([name, value]) => `\`${name}\` ${value}`)
  .join(", ");
