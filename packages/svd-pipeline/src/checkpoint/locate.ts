import type { ComponentName, TensorEntry } from "@vd/hub";

/** A tensor of the file under its name relative to the network. */
export type RelativeEntries = ReadonlyMap<string, TensorEntry>;

/** The tensors of a single-file checkpoint, sorted by network. */
export interface LocatedEntries {
  components: Readonly<Record<ComponentName, RelativeEntries>>;
  /** Names that belong to no part of SVD. */
  unknown: string[];
}

const PARTS: readonly (readonly [prefix: RegExp, part: "unet" | "image_encoder" | "encoder" | "stage"])[] = [
  [/^model\.diffusion_model\./, "unet"],
  [/^conditioner\.embedders\.\d+\.open_clip\.model\.visual\./, "image_encoder"],
  // The condition's own autoencoder; its decoder is not used.
  [/^conditioner\.embedders\.\d+\.encoder\.(?=encoder\.|quant_conv\.)/, "encoder"],
  [/^first_stage_model\.(?=encoder\.|decoder\.|quant_conv\.)/, "stage"],
];

/** Parts of published files that a pipeline does not read: CLIP's text tower, unused decoders, training state. */
const UNUSED = [
  /^conditioner\.embedders\.\d+\.open_clip\.model\.(?!visual\.)/,
  /^conditioner\.embedders\.\d+\.encoder\.(?:decoder|post_quant_conv|loss|model_ema)\./,
  /^first_stage_model\.(?:loss|model_ema)\./,
  /^(?:model_ema|denoiser|loss_fn)\./,
];

/**
 * Sorts the tensors of a single-file checkpoint by network. The published files hold two encoders: that of the
 * condition (`conditioner.embedders.3.encoder`) is the one that makes the latents of the input picture, so it is taken
 * where there is one; `first_stage_model.encoder` otherwise.
 * Source: Stability-AI/generative-models scripts/sampling/configs/svd_xt.yaml.
 */
export function locateEntries(entries: Iterable<TensorEntry>): LocatedEntries {
  const parts = { unet: new Map(), image_encoder: new Map(), encoder: new Map(), stage: new Map() };
  const unknown: string[] = [];
  for (const entry of entries) {
    const match = PARTS.map(([prefix, part]) => ({ part, prefix: prefix.exec(entry.name)?.[0] })).find(
      ({ prefix }) => prefix !== undefined,
    );
    if (match?.prefix !== undefined) parts[match.part].set(currentName(entry.name.slice(match.prefix.length)), entry);
    else if (!UNUSED.some((unused) => unused.test(entry.name))) unknown.push(entry.name);
  }
  const { unet, image_encoder, encoder, stage } = parts;
  return { components: { unet, image_encoder, vae: chooseEncoder(encoder, stage) }, unknown };
}

function chooseEncoder(encoder: RelativeEntries, stage: RelativeEntries): RelativeEntries {
  const decoderOnly = [...stage].filter(([name]) => name.startsWith("decoder."));
  if (encoder.has("encoder.conv_in.weight")) return new Map([...decoderOnly, ...encoder]);
  return new Map([...encoder, ...stage]);
}

/** Earlier files, and the reference's conversion script, have the decoder's last layer under another name. */
function currentName(name: string): string {
  return name.replace(/^decoder\.time_mix_conv\./, "decoder.conv_out.time_mix_conv.");
}
