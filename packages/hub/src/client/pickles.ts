/** True for a file of weights that torch.save made: a program in Python's pickle format. */
export const isPickle = (name: string): boolean => /\.(?:bin|ckpt|pt|pth)$/.test(name);

/** What to do about a model that has only pickles, or undefined where there are none. Pickles are never loaded: what is in
 *  them runs. */
export function pickleHint(names: Iterable<string>): string | undefined {
  if (![...names].some(isPickle)) return undefined;
  return (
    "Such files can run any program and are never loaded. Get the model's safetensors version, or convert it once " +
    'where you trust it: python -c "from diffusers import StableVideoDiffusionPipeline as P; ' +
    "P.from_pretrained('MODEL', use_safetensors=False).save_pretrained('MODEL-safetensors')\""
  );
}
