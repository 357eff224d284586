/** Models of the Stable Diffusion class whose plans can be made without their files. */
export const LIVE_MODELS = ["sd15-unet", "sd-turbo-unet", "sd-turbo"] as const;

/** One of {@link LIVE_MODELS}. */
export type LiveModelName = (typeof LIVE_MODELS)[number];

/** Every model whose work can be told, the default first. */
export const ROOFLINE_MODELS = ["svd-xt", ...LIVE_MODELS] as const;

/** One of {@link ROOFLINE_MODELS}. */
export type RooflineModel = (typeof ROOFLINE_MODELS)[number];
