/** The networks of SVD, by the names of their folders. */
export type ComponentName = "unet" | "vae" | "image_encoder";

/** All networks of SVD. */
export const COMPONENT_NAMES: readonly ComponentName[] = ["unet", "vae", "image_encoder"];
