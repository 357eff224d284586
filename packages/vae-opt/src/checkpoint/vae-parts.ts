import type { NamePair, RelativeEntries, TensorSource } from "@vd/hub";
import { having, requireArgument, TEXT } from "@vd/kernels-native";
import { ENTRIES, NAMES } from "../wanted";
import { vaeLayoutOfOriginal, vaeNamePairs } from "./vae-names";

/** Where a single-file checkpoint holds autoencoders. `encoder`: the condition's own, whose decoder is not used; `stage`: the
 *  one that decodes. */
export const VAE_PREFIXES: readonly (readonly [prefix: RegExp, part: "encoder" | "stage"])[] = [
  [/^conditioner\.embedders\.\d+\.encoder\.(?=encoder\.|quant_conv\.)/, "encoder"],
  [/^first_stage_model\.(?=encoder\.|decoder\.|quant_conv\.)/, "stage"],
];

/** What autoencoders in such files have that nobody reads. */
export const VAE_UNUSED: readonly RegExp[] = [
  /^conditioner\.embedders\.\d+\.encoder\.(?:decoder|post_quant_conv|loss|model_ema)\./,
  /^first_stage_model\.(?:loss|model_ema)\./,
];

/** Returns today's form of a relative name: earlier files, and the reference's conversion script, have the decoder's last
 *  layer under another one. @throws VdError `attr` for what is no text */
export function currentVaeName(name: string): string {
  requireArgument("currentVaeName", name, TEXT);
  return name.replace(/^decoder\.time_mix_conv\./, "decoder.conv_out.time_mix_conv.");
}

/** Returns the tensors of the autoencoder of a file with two encoders: that of the condition makes the latents of the input
 *  picture, so it is taken where there is one. Source: Stability-AI/generative-models scripts/sampling/configs/svd_xt.yaml.
 *  @throws VdError `attr` for what are no tensors */
export function chooseVaeEncoder(encoder: RelativeEntries, stage: RelativeEntries): RelativeEntries {
  requireArgument("chooseVaeEncoder encoder", encoder, ENTRIES);
  requireArgument("chooseVaeEncoder stage", stage, ENTRIES);
  const decoderOnly = [...stage].filter(([name]) => name.startsWith("decoder."));
  if (encoder.has("encoder.conv_in.weight")) return new Map([...decoderOnly, ...encoder]);
  return new Map([...encoder, ...stage]);
}

const hasQuantConv = (names: { has(name: string): boolean }): boolean =>
  names.has("quant_conv.weight") || names.has("quant_conv.bias");

/** Returns the pairs of an autoencoder with these original names; without `quant_conv` where it is folded into the encoder.
 *  @throws VdError `attr` for what are no names */
export function vaePairsOfOriginal(names: ReadonlySet<string>): NamePair[] {
  requireArgument("vaePairsOfOriginal names", names, NAMES);
  const pairs = vaeNamePairs(vaeLayoutOfOriginal(names));
  return hasQuantConv(names) ? pairs : pairs.filter(({ original }) => !original.startsWith("quant_conv."));
}

const SOURCES = having("a Map of tensors' sources", ["set"]);

/** The encoder of `first_stage_model` has no `quant_conv` of its own: a layer that changes nothing takes its place.
 *  @throws VdError `attr` for what are no tensors */
export function addFoldedVaeLayer(sources: Map<string, TensorSource>, relative: RelativeEntries): void {
  requireArgument("addFoldedVaeLayer sources", sources, SOURCES);
  requireArgument("addFoldedVaeLayer relative", relative, ENTRIES);
  const out = relative.get("encoder.conv_out.weight");
  const channels = out?.shape[0];
  if (hasQuantConv(relative) || out === undefined || channels === undefined) return;
  const { dtype } = out;
  sources.set("quant_conv.weight", { made: "identity", dtype, shape: [channels, channels, 1, 1] });
  sources.set("quant_conv.bias", { made: "zeros", dtype, shape: [channels] });
}
