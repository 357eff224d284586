/** What `fast` sets where the options are not given: what `vd-bench quality` shows to cost least for what it saves. On tiny-svd its videos
 *  stay within {@link FAST_QUALITY} of the exact ones. */
export const FAST = { guidanceMinSigma: 0.2, skipThreshold: 0.02 } as const;

/** The least likeness to the exact videos that `fast` is held to on tiny-svd, with its usual steps. */
export const FAST_QUALITY = { psnr: 34, ssim: 0.97 } as const;

/** What `fast` sets, in words. */
export const FAST_TEXT = Object.entries(FAST)
  .map(([name, value]) => `\`${name}\` ${value}`)
  .join(" and ");
