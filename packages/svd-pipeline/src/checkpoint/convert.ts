import {
  type ExportSource,
  exportsOfPairs,
  firstOf,
  type NameFaults,
  requireAllNames,
  sourcesOfPairs,
  type TensorEntry,
  type TensorSource,
} from "@vd/hub";
import { having, requireArgument, requireOptions, VdError } from "@vd/kernels-native";
import { addFoldedVaeLayer } from "@vd/vae-opt";
import { COMPONENT_NAMES, type ComponentName } from "./component-names";
import { COMPONENT_NAMING } from "./components";
import { locateNetworks } from "./locate";

/** The sources of each network's tensors, by their names in the folder layout. */
export type ComponentSources = Map<ComponentName, Map<string, TensorSource>>;

/** Older exports hold this list of indices as if it were a weight. */
const INDEX_BUFFER = "vision_model.embeddings.position_ids";

/** Entries of a checkpoint; a text has an iterator, too. */
const TENSORS = {
  expected: "a list of a checkpoint's tensors",
  fits: (value: unknown) => typeof value === "object" && value !== null && Symbol.iterator in value,
};

/**
 * Maps a single-file checkpoint in the original names to the names of the folder layout; no data is read. Works for any
 * number of blocks, layers and channels. `components`: the networks wanted, default all. Source:
 * huggingface/diffusers@58eb52c scripts/convert_svd_to_diffusers.py, src/diffusers/loaders/single_file_utils.py.
 *
 * @throws VdError `weights` that names the first tensors that are missing, unknown or of a wrong shape
 */
export function originalToDiffusers(
  entries: Iterable<TensorEntry>,
  options: { components?: readonly ComponentName[] } = {},
): ComponentSources {
  requireArgument("originalToDiffusers entries", entries, TENSORS);
  requireOptions("originalToDiffusers", options);
  const { components = COMPONENT_NAMES } = options;
  const located = locateNetworks(entries);
  const result: ComponentSources = new Map();
  const faults: NameFaults = { missing: [], unknown: [...located.unknown] };
  for (const component of components) {
    const relative = located.components[component];
    if (relative.size === 0) throw absentError(component, located.unknown);
    const found = sourcesOfPairs(COMPONENT_NAMING[component].pairsOfOriginal(new Set(relative.keys())), relative);
    faults.missing.push(...found.missing.map((name) => prefixed(component, name)));
    faults.unknown.push(...found.unknown);
    const sources = new Map<string, TensorSource>(found.sources);
    if (component === "vae") addFoldedVaeLayer(sources, relative);
    result.set(component, sources);
  }
  requireSvdNames(faults, "a Stable Video Diffusion checkpoint in the original names");
  return result;
}

/** Names of a UNet that stands alone begin with these, without what a whole checkpoint has before them. */
const BARE_UNET = /^(?:input_blocks|middle_block|output_blocks|time_embed|label_emb|out)\./;

/**
 * Maps a UNet with the original names, alone or within a whole checkpoint, to the names of the folder layout; no data is read. where: the
 * file, for messages.
 *
 * @throws VdError `weights` that names the first tensors that are missing or unknown
 */
export function originalUnetSources(where: string, entries: Iterable<TensorEntry>): Map<string, TensorSource> {
  const bare = new Map<string, TensorEntry>();
  const whole: TensorEntry[] = [];
  for (const entry of entries) {
    if (BARE_UNET.test(entry.name)) bare.set(entry.name, entry);
    else whole.push(entry);
  }
  const relative = bare.size > 0 ? bare : locateNetworks(whole).components.unet;
  if (relative.size === 0) throw absentUnetError(where, whole);
  const { sources, missing, unknown } = sourcesOfPairs(
    COMPONENT_NAMING.unet.pairsOfOriginal(new Set(relative.keys())),
    relative,
  );
  requireAllNames({ missing, unknown }, `the UNet of a Stable Video Diffusion model in ${where}`, UNET_HINT);
  return new Map(sources);
}

const UNET_HINT = "Give a UNet's folder or file, e.g. AnimateLCM-SVD-xt.safetensors.";

function absentUnetError(where: string, others: readonly TensorEntry[]): VdError {
  return new VdError({
    code: "weights",
    where,
    expected:
      "tensors named like conv_in.weight, input_blocks.0.0.weight or model.diffusion_model.input_blocks.0.0.weight",
    got: others.length === 0 ? "none" : `none; the first others are ${firstOf(others.map(({ name }) => name))}`,
    hint: UNET_HINT,
  });
}

/**
 * Maps the tensors of the folder layout to the original names; no data is read. The autoencoder's encoder goes where
 * the published files keep the one with a `quant_conv` (`conditioner.embedders.3.encoder`).
 *
 * @throws VdError `weights` that names the first tensors that are missing, unknown or of a wrong shape
 */
export function diffusersToOriginal(
  components: ReadonlyMap<ComponentName, Iterable<TensorEntry>>,
): Map<string, ExportSource<ComponentName>> {
  requireArgument("diffusersToOriginal components", components, having("a Map of components", ["get", "keys"]));
  const result = new Map<string, ExportSource<ComponentName>>();
  const faults: NameFaults = { missing: [], unknown: [] };
  for (const [component, entries] of components) {
    const tensors = [...entries].filter(({ name }) => name !== INDEX_BUFFER);
    const pairs = COMPONENT_NAMING[component].pairsOfDiffusers(new Set(tensors.map(({ name }) => name)));
    const { exports, missing, unknown } = exportsOfPairs(component, pairs, tensors);
    for (const [name, source] of exports) result.set(prefixed(component, name), source);
    faults.missing.push(...missing.map((name) => `${component}: ${name}`));
    faults.unknown.push(...unknown.map((name) => `${component}: ${name}`));
  }
  requireSvdNames(faults, "a Stable Video Diffusion model in the folder layout");
  return result;
}

function prefixed(component: ComponentName, name: string): string {
  return COMPONENT_NAMING[component].originalPrefix(name) + name;
}

function absentError(component: ComponentName, unknown: readonly string[]): VdError {
  const example = { unet: "conv_in.weight", vae: "decoder.conv_in.weight", image_encoder: "conv1.weight" }[component];
  const inFolderNames = unknown.some((name) =>
    /^(?:encoder\.|decoder\.)?(?:down|up|mid)_blocks?\.|^vision_model\./.test(name),
  );
  return new VdError({
    code: "weights",
    where: component,
    expected: `tensors named like ${prefixed(component, example)}`,
    got: unknown.length === 0 ? "none" : `none; the first others are ${firstOf(unknown)}`,
    hint: inFolderNames
      ? "This file is one network of a model in the folder layout: give the model's folder instead."
      : "Give a single-file checkpoint of Stable Video Diffusion, e.g. svd_xt.safetensors.",
  });
}

function requireSvdNames(faults: NameFaults, expected: string): void {
  const imageDecoder = faults.missing.some((name) => name.includes("decoder.conv_out.time_mix_conv"));
  const hint = imageDecoder
    ? "Files named *_image_decoder hold a decoder without time: use the file without that ending."
    : "The file is damaged, or of another kind of model.";
  requireAllNames(faults, expected, hint);
}
