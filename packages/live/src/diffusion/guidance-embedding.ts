/** The guidance scale as sines and cosines, which consistency models are told instead of being called twice. → [width].
 *  Source: huggingface/diffusers@58eb52c pipelines/latent_consistency_models `get_guidance_scale_embedding`. */
export function guidanceEmbedding(scale: number, width: number): Float32Array {
  const half = Math.floor(width / 2);
  const position = (scale - 1) * 1000;
  const angle = (i: number) => position * Math.exp((-i * Math.log(10_000)) / (half - 1));
  return Float32Array.from({ length: width }, (_, i) =>
    i < half ? Math.sin(angle(i)) : i < 2 * half ? Math.cos(angle(i - half)) : 0,
  );
}
