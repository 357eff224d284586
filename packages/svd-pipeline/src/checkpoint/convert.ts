import type { NamePair } from "@vd/hub";
import { COMPONENT_NAMES, type ComponentName, type ExportSource, type TensorEntry, type TensorSource } from "@vd/hub";
import { VdError } from "@vd/kernels-native";
import { COMPONENT_NAMING } from "./components";
import { locateEntries, type RelativeEntries } from "./locate";

/** The sources of each network's tensors, by their names in the folder layout. */
export type ComponentSources = Map<ComponentName, Map<string, TensorSource>>;

/**
 * Maps a single-file checkpoint in the original names to the names of the folder layout; no data is read. Works for any
 * number of blocks, layers and channels. `components`: the networks wanted, default all.
 * Throws VdError `weights` that names the first tensors that are missing, unknown or of a wrong shape.
 * Source: huggingface/diffusers@58eb52c scripts/convert_svd_to_diffusers.py, src/diffusers/loaders/single_file_utils.py.
 */
export function originalToDiffusers(
  entries: Iterable<TensorEntry>,
  { components = COMPONENT_NAMES }: { components?: readonly ComponentName[] } = {},
): ComponentSources {
  const located = locateEntries(entries);
  const result: ComponentSources = new Map();
  const missing: string[] = [];
  const unknown = [...located.unknown];
  for (const component of components) {
    const relative = located.components[component];
    if (relative.size === 0) throw absentError(component, located.unknown);
    const pairs = withoutFoldedLayer(component, relative);
    const byOriginal = new Set(pairs.map(({ original }) => original));
    unknown.push(...[...relative].filter(([name]) => !byOriginal.has(name)).map(([, { name }]) => name));
    const sources = new Map<string, TensorSource>();
    for (const pair of pairs) {
      const entry = relative.get(pair.original);
      if (entry !== undefined) sources.set(pair.diffusers, storedSource(pair, entry));
      else if (!pair.optional) missing.push(prefixed(component, pair.original));
    }
    if (component === "vae") addFoldedLayer(sources, relative);
    result.set(component, sources);
  }
  throwIfUnfit(missing, unknown, "a Stable Video Diffusion checkpoint in the original names");
  return result;
}

/**
 * Maps the tensors of the folder layout to the original names; no data is read. The autoencoder's encoder goes where the
 * published files keep the one with a `quant_conv` (`conditioner.embedders.3.encoder`).
 * Throws VdError `weights` that names the first tensors that are missing, unknown or of a wrong shape.
 */
export function diffusersToOriginal(
  components: ReadonlyMap<ComponentName, Iterable<TensorEntry>>,
): Map<string, ExportSource> {
  const result = new Map<string, ExportSource>();
  const missing: string[] = [];
  const unknown: string[] = [];
  for (const [component, entries] of components) {
    const byName = new Map([...entries].map((entry) => [entry.name, entry]));
    const pairs = COMPONENT_NAMING[component].pairsOfDiffusers(new Set(byName.keys()));
    const known = new Set(pairs.map(({ diffusers }) => diffusers));
    // Older exports hold this list of indices as if it were a weight.
    known.add("vision_model.embeddings.position_ids");
    unknown.push(...[...byName.keys()].filter((name) => !known.has(name)).map((name) => `${component}: ${name}`));
    for (const pair of pairs) {
      const entry = byName.get(pair.diffusers);
      if (entry !== undefined) addExport(result, component, pair, entry);
      else if (!pair.optional) missing.push(`${component}: ${pair.diffusers}`);
    }
  }
  throwIfUnfit(missing, unknown, "a Stable Video Diffusion model in the folder layout");
  return result;
}

function storedSource(pair: NamePair, { name, dtype, shape }: TensorEntry): TensorSource {
  const [first = 0, second = 0, ...rest] = shape;
  if (pair.part !== undefined) {
    const { index, count } = pair.part;
    if (first % count !== 0) throw shapeError(name, `${count} equal parts along the first dimension`, shape);
    const length = first / count;
    const cut = [length, ...shape.slice(1)];
    return { name, rows: [index * length, (index + 1) * length], dtype, shape: cut };
  }
  if (pair.transpose) {
    if (shape.length !== 2) throw shapeError(name, "two dimensions", shape);
    return { name, transpose: true, dtype, shape: [second, first] };
  }
  if (pair.convolution !== undefined && shape.length > 2) {
    if (rest.some((size) => size !== 1)) throw shapeError(name, "a 1×1 convolution", shape);
    return { name, reshape: [first, second], dtype, shape: [first, second] };
  }
  return { name, dtype, shape: [...shape] };
}

function addExport(
  result: Map<string, ExportSource>,
  component: ComponentName,
  pair: NamePair,
  { name, dtype, shape }: TensorEntry,
): void {
  const original = prefixed(component, pair.original);
  const [first = 0, second = 0] = shape;
  if (pair.part !== undefined) {
    const others = result.get(original);
    if (others === undefined) result.set(original, { component, names: [name], dtype, shape: [...shape] });
    else {
      const fits = others.dtype === dtype && String(others.shape.slice(1)) === String(shape.slice(1));
      if (!fits) throw shapeError(name, `the type and width of ${others.names[0]}`, shape);
      others.names.push(name);
      others.shape[0] = (others.shape[0] ?? 0) + first;
    }
  } else if (pair.transpose) {
    if (shape.length !== 2) throw shapeError(name, "two dimensions", shape);
    result.set(original, { component, names: [name], transpose: true, dtype, shape: [second, first] });
  } else if (pair.convolution === "always" && shape.length === 2) {
    const reshape = [first, second, 1, 1];
    result.set(original, { component, names: [name], reshape, dtype, shape: reshape });
  } else result.set(original, { component, names: [name], dtype, shape: [...shape] });
}

/** The pairs of a network; without `quant_conv` where the file has none, because it is folded into the encoder. */
function withoutFoldedLayer(component: ComponentName, relative: RelativeEntries): NamePair[] {
  const pairs = COMPONENT_NAMING[component].pairsOfOriginal(new Set(relative.keys()));
  const folded = component === "vae" && !hasQuantConv(relative);
  return folded ? pairs.filter(({ original }) => !original.startsWith("quant_conv.")) : pairs;
}

/** The encoder of `first_stage_model` has no `quant_conv` of its own: a layer that changes nothing takes its place. */
function addFoldedLayer(sources: Map<string, TensorSource>, relative: RelativeEntries): void {
  const out = relative.get("encoder.conv_out.weight");
  const channels = out?.shape[0];
  if (hasQuantConv(relative) || out === undefined || channels === undefined) return;
  const { dtype } = out;
  sources.set("quant_conv.weight", { made: "identity", dtype, shape: [channels, channels, 1, 1] });
  sources.set("quant_conv.bias", { made: "zeros", dtype, shape: [channels] });
}

function hasQuantConv(relative: RelativeEntries): boolean {
  return relative.has("quant_conv.weight") || relative.has("quant_conv.bias");
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

function throwIfUnfit(missing: readonly string[], unknown: readonly string[], expected: string): void {
  if (missing.length === 0 && unknown.length === 0) return;
  const imageDecoder = missing.some((name) => name.includes("decoder.conv_out.time_mix_conv"));
  const parts = [
    missing.length > 0 ? `${missing.length} missing tensors: ${firstOf(missing)}` : "",
    unknown.length > 0 ? `${unknown.length} unknown tensors: ${firstOf(unknown)}` : "",
  ];
  throw new VdError({
    code: "weights",
    where: missing[0] ?? unknown[0] ?? "",
    expected,
    got: parts.filter((part) => part !== "").join("; "),
    hint: imageDecoder
      ? "Files named *_image_decoder hold a decoder without time: use the file without that ending."
      : "The file is damaged, or of another kind of model.",
  });
}

function firstOf(names: readonly string[]): string {
  return names.slice(0, 3).join(", ") + (names.length > 3 ? ", …" : "");
}

function shapeError(name: string, expected: string, shape: readonly number[]): VdError {
  return new VdError({ code: "weights", where: name, expected, got: `[${shape.join(", ")}]` });
}
