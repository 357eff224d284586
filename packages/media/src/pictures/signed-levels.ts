/**
 * float32 value in [-1, 1] of each 8-bit level: v/255, then 2·v − 1, each rounded to float32.
 * Source: huggingface/diffusers@58eb52c image_processor.py `pil_to_numpy`, `normalize`.
 */
export const SIGNED_LEVELS: Readonly<Float32Array> = Float32Array.from(
  { length: 256 },
  (_, level) => 2 * Math.fround(level / 255) - 1,
);
