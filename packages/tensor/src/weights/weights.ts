import {
  countOf,
  type DType,
  FUNCTION,
  having,
  listOf,
  mapFile,
  requireArgument,
  TEXT,
  VdError,
} from "@vd/kernels-native";
import { makeStorage, packedTensor } from "../graph";
import { decodeStored } from "../host";
import { nearestNames } from "../nearest-names";
import { type Pausable, pausable } from "../pausable";
import { elementBytes, packedBytes, type Storage, type Tensor } from "../tensor";
import { ChangedStorage, type ChangeRow } from "./changed-storage";
import { type Checkpoint, type CheckpointOptions, openCheckpoint } from "./checkpoint";
import { ConvertedStorage, decodeFloat64 } from "./converted-storage";
import { foldBatchNorm, foldedBias } from "./fold";
import { noteFoldedNorm } from "./folded-norm";
import { FoldedStorage } from "./folded-storage";
import type { SafetensorsDtype } from "./safetensors-dtype";
import { StackedStorage } from "./stacked-storage";

/** One named weight: where its elements lie, packed. */
export interface WeightEntry {
  dtype: DType;
  shape: readonly number[];
  storage: Storage;
  byteOffset: number;
}

const DTYPES: Partial<Record<SafetensorsDtype, DType>> = { F32: "f32", F16: "f16", BF16: "bf16" };

interface Shared {
  /** The file or folder, for messages. */
  label: string;
  entries: ReadonlyMap<string, WeightEntry>;
  /** Tensors of types that no weight has, by name. */
  otherTypes: ReadonlyMap<string, string>;
  used: Set<string>;
  merged: Map<string, Tensor>;
  /** Sentences about weights that are used in another form than they are stored in. */
  notices: string[];
  /** Makes a weight that is asked for. */
  make?: MakeWeight;
}

/** Weights by their names. */
const MAP = having("a Map of weights by their names", ["get", "has", "keys"]);

/** Makes a weight by its whole name and shape. */
export type MakeWeight = (name: string, dims: readonly number[]) => WeightEntry;

/**
 * A whole file as a storage, mapped read-only.
 *
 * @throws VdError `io`
 */
export function mapWeightFile(path: string): Storage {
  const buffer = mapFile(path);
  return makeStorage("weights", buffer.bytes, path, { buffer, byteOffset: 0 });
}

/** What a checkpoint holds: weights, and the types of tensors that cannot be weights here. */
interface FoundWeights {
  entries: Map<string, WeightEntry>;
  otherTypes: Map<string, string>;
  /** Weights in float64. */
  wide: string[];
}

/** At most three of the names, for messages. */
const someOf = (names: readonly string[]) => `${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""}`;

/** Scale, shift, mean and variance of a batch norm, and the bias before it. */
type Vectors = [Float32Array, Float32Array, Float32Array, Float32Array, Float32Array?];

/** Makes a weight of others' numbers. */
type Fold = (numbers: readonly Float32Array[]) => Float32Array;

/** Weights between two pauses. */
const PIECE = 128;

function* entriesOf(checkpoint: Checkpoint): Pausable<FoundWeights> {
  const files = new Map<string, Storage>();
  const otherTypes = new Map<string, string>();
  const entries = new Map<string, WeightEntry>();
  const wide: string[] = [];
  for (const [name, { file, entry }] of checkpoint.entries) {
    const dtype = DTYPES[entry.dtype];
    if (!dtype && entry.dtype !== "F64") {
      otherTypes.set(name, entry.dtype);
      continue;
    }
    const storage = files.get(file.path) ?? mapWeightFile(file.path);
    files.set(file.path, storage);
    const { shape, byteOffset } = entry;
    if (dtype) entries.set(name, { dtype, shape, storage, byteOffset });
    else {
      const stored = { buffer: storage.place!.buffer, byteOffset, bytes: entry.byteLength, decode: decodeFloat64 };
      const converted = new ConvertedStorage(name, entry.byteLength / Float64Array.BYTES_PER_ELEMENT, stored);
      entries.set(name, { dtype: "f32", shape, storage: converted, byteOffset: 0 });
      wide.push(name);
    }
    if (entries.size % PIECE === 0) yield;
  }
  return { entries, otherTypes, wide };
}

/** Returns the sentence about weights in float64. label: the file. */
export function roundedNotice(label: string, names: readonly string[]): string {
  requireArgument("roundedNotice label", label, TEXT);
  requireArgument("roundedNotice names", names, listOf(TEXT));
  return `${label}: weights stored in float64 are rounded to float32, ${names.length} in all: ${someOf(names)}.`;
}

/** A packed tensor as float32, converted when it is needed. */
function inFloat32(part: Tensor): Tensor {
  const { dtype, dims, storage } = part;
  if (dtype === "f32") return part;
  const { buffer, byteOffset } = storage.place!;
  const converted = new ConvertedStorage(storage.name, countOf(dims), {
    ...{ buffer, byteOffset: byteOffset + part.byteOffset, bytes: packedBytes(dims, dtype) },
    decode: (bytes) => decodeStored(bytes, dtype),
  });
  return packedTensor(converted, dims, "f32");
}

/**
 * Weights by their checkpoint paths, read in place from mapped files. Modules take what they need, shapes checked;
 * {@link expectAllUsed} then finds what no module took.
 *
 * @example
 * ```ts
 * import { Weights } from "@vd/tensor";
 *
 * const vae = Weights.open("models/tiny-svd/vae");
 * const bias = vae.at("decoder.conv_in").has("bias");
 * console.log(bias);
 * ```
 */
export class Weights {
  private constructor(
    private readonly shared: Shared,
    /** Checkpoint path of this scope, without a final dot; also the name of rows that use it. */
    readonly path: string,
    /** What the file has before the checkpoint's own names, with its dot. */
    private readonly prefix = "",
  ) {}

  /**
   * Maps a .safetensors file, a folder with one, or shards. Pauses while headers are checked.
   *
   * @throws VdError `weights` or `io`
   */
  static readonly open = pausable(function* (path: string, options: CheckpointOptions = {}): Pausable<Weights> {
    const checkpoint = yield* openCheckpoint.inPieces(path, options);
    try {
      const { entries, otherTypes, wide } = yield* entriesOf(checkpoint);
      const notices = wide.length > 0 ? [roundedNotice(path, wide)] : [];
      return new Weights({ label: path, entries, otherTypes, used: new Set(), merged: new Map(), notices }, "");
    } finally {
      checkpoint.close();
    }
  });

  /** Weights from entries made elsewhere, e.g. by renaming. label: for messages. notices: as {@link notices}. */
  static fromEntries(
    label: string,
    entries: ReadonlyMap<string, WeightEntry>,
    notices: readonly string[] = [],
  ): Weights {
    requireArgument("Weights.fromEntries label", label, TEXT);
    requireArgument("Weights.fromEntries entries", entries, MAP);
    const empty = { otherTypes: new Map(), used: new Set<string>(), merged: new Map() };
    return new Weights({ label, entries, ...empty, notices: [...notices] }, "");
  }

  /** Weights that are made as modules ask for them, each once: a model without files, for measurements. label: for messages. */
  static made(label: string, make: MakeWeight): Weights {
    requireArgument("Weights.made label", label, TEXT);
    requireArgument("Weights.made make", make, FUNCTION);
    const empty = {
      entries: new Map(),
      otherTypes: new Map(),
      used: new Set<string>(),
      merged: new Map(),
      notices: [],
    };
    const made = new Map<string, WeightEntry>();
    const once: MakeWeight = (name, dims) => {
      const entry = made.get(name) ?? make(name, dims);
      made.set(name, entry);
      return entry;
    };
    return new Weights({ label, ...empty, make: once }, "");
  }

  /** Sentences about weights that are used in another type than they are stored in. */
  get notices(): readonly string[] {
    return this.shared.notices;
  }

  /** All weights by their names in the checkpoint. */
  get entries(): ReadonlyMap<string, WeightEntry> {
    return this.shared.entries;
  }

  /**
   * Returns the same weights but for some whose rows are changed: `changes` are by name, of weights in float32, float16 or bfloat16, and
   * are made when a plan is loaded. These weights stay as they are.
   *
   * @throws VdError `weights` for a name that is not there
   */
  withChanges(changes: ReadonlyMap<string, ChangeRow>): Weights {
    const entries = new Map(this.shared.entries);
    for (const [name, change] of changes) {
      const { dtype, shape, storage, byteOffset } = entries.get(name) ?? this.missing(name, []);
      const changed = new ChangedStorage(name, packedTensor(storage, shape, dtype, byteOffset), change);
      entries.set(name, { dtype, shape, storage: changed, byteOffset: 0 });
    }
    const { label, otherTypes } = this.shared;
    return new Weights({ label, entries, otherTypes, used: new Set(), merged: new Map(), notices: [] }, "");
  }

  /** The names below `prefix` as a checkpoint of their own: paths start anew. */
  scope(prefix: string): Weights {
    return new Weights(this.shared, "", `${this.full(prefix)}.`);
  }

  /** The scope below `name`. */
  at(name: string | number): Weights {
    return new Weights(this.shared, this.path ? `${this.path}.${name}` : String(name), this.prefix);
  }

  /** True if the checkpoint has `name` in this scope. */
  has(name: string): boolean {
    return this.shared.entries.has(this.full(name));
  }

  /**
   * Weight `name` of exactly `dims`.
   *
   * @throws VdError `weights` naming the key and both shapes
   */
  tensor(name: string, dims: readonly number[]): Tensor {
    const { dtype, storage, byteOffset } = this.entry(name, dims);
    return packedTensor(storage, dims, dtype, byteOffset);
  }

  /**
   * Weights stacked along their first dimension, copied once; in float32 where their types differ, which is noticed.
   *
   * @throws VdError as {@link tensor}
   */
  stackRows(names: readonly string[], dims: readonly number[]): Tensor {
    const key = names.map((name) => this.full(name)).join("+");
    const known = this.shared.merged.get(key);
    if (known) return known;
    const merged = this.stack(
      key,
      names.map((name) => this.tensor(name, dims)),
      dims,
    );
    this.shared.merged.set(key, merged);
    return merged;
  }

  /**
   * Filters `conv.weight`, of `dims` with the output channels first, and the batch norm `norm` behind them as one convolution in
   * float32, folded once, when it is needed. bias: whether there is a `conv.bias`. Source: {@link foldBatchNorm}.
   *
   * @throws VdError as {@link tensor}
   */
  foldBatchNorm(
    { conv, norm }: { conv: string; norm: string },
    { dims, bias = false, eps }: { dims: readonly number[]; bias?: boolean | undefined; eps: number },
  ): { weight: Tensor; bias: Tensor } {
    const channels = [dims[0]!];
    const names = ["weight", "bias", "running_mean", "running_var"].map((name) => `${norm}.${name}`);
    const filters = this.tensor(`${conv}.weight`, dims);
    const vectors = names.map((name) => this.tensor(name, channels));
    if (bias) vectors.push(this.tensor(`${conv}.bias`, channels));
    const named = ([scale, shift, mean, variance, own]: Vectors) => ({ scale, shift, mean, variance, bias: own, eps });
    const folded = (kind: string, shape: readonly number[], parts: Tensor[], fold: Fold) =>
      packedTensor(new FoldedStorage(this.full(`${conv}.${kind}`), countOf(shape), parts, fold), shape, "f32");
    const weight = folded(
      "weight",
      dims,
      [filters, ...vectors],
      ([weight, ...rest]) => foldBatchNorm({ weight: weight!, ...named(rest as Vectors) }).weight,
    );
    // The filters are not read again for it.
    const shift = folded("bias", channels, vectors, (numbers) => foldedBias(named(numbers as Vectors)));
    noteFoldedNorm(shift, { weight: vectors[0]!, bias: vectors[1]! });
    return { weight, bias: shift };
  }

  /** The single number of weight `name`. */
  scalar(name: string): number {
    const known = this.shared.entries.get(this.full(name));
    const { dtype, storage, byteOffset } = this.entry(name, known?.shape.length === 0 ? [] : [1]);
    const { buffer, byteOffset: base } = storage.place!;
    return decodeStored(buffer.readSync(new Uint8Array(elementBytes(dtype)), base + byteOffset), dtype)[0]!;
  }

  /**
   * Checks that modules have taken every key below this scope. ignore: keys that may be left.
   *
   * @throws VdError `weights` naming keys that no module has taken
   */
  expectAllUsed(ignore?: (name: string) => boolean): void {
    const unused = this.unused(ignore);
    if (unused.length === 0) return;
    throw new VdError({
      code: "weights",
      where: this.shared.label,
      expected: "only weights that the configuration asks for",
      got: `${unused.length} more: ${someOf(unused)}`,
      hint: "config.json and the weights come from different models, or the model has parts that are not supported.",
    });
  }

  /** The keys below this scope that no module has taken. ignore: keys that may be left. */
  unused(ignore: (name: string) => boolean = () => false): string[] {
    const prefix = this.path ? `${this.prefix}${this.path}.` : this.prefix;
    return [...this.shared.entries.keys()].filter(
      (name) => name.startsWith(prefix) && !this.shared.used.has(name) && !ignore(name.slice(prefix.length)),
    );
  }

  private stack(key: string, stored: readonly Tensor[], dims: readonly number[]): Tensor {
    const types = stored.map((part) => part.dtype);
    const isMixed = types.some((type) => type !== types[0]);
    if (isMixed) {
      const { label, notices } = this.shared;
      notices.push(`${label}: ${key} have different types (${types.join(", ")}) and are used as f32.`);
    }
    const parts = isMixed ? stored.map(inFloat32) : stored;
    const dtype = parts[0]!.dtype;
    const storage = new StackedStorage(key, parts, packedBytes(dims, dtype));
    return packedTensor(storage, [dims[0]! * parts.length, ...dims.slice(1)], dtype);
  }

  private entry(name: string, dims: readonly number[]): WeightEntry {
    const full = this.full(name);
    const entry = this.shared.entries.get(full) ?? this.shared.make?.(full, dims);
    if (!entry) this.missing(full, dims);
    const same = entry.shape.length === dims.length && dims.every((dim, i) => dim === entry.shape[i]);
    if (!same || entry.shape.some((dim) => dim < 1) || countOf(entry.shape) !== countOf(dims))
      this.misfit(full, `a shape of [${dims.join(",")}]`, `[${entry.shape.join(",")}]`);
    this.shared.used.add(full);
    return entry;
  }

  private missing(full: string, dims: readonly number[]): never {
    const type = this.shared.otherTypes.get(full);
    if (type) this.misfit(full, "a weight in F32, F16 or BF16", type);
    const near = nearestNames(full, this.shared.entries.keys());
    this.misfit(
      full,
      `a weight of [${dims.join(",")}]`,
      near.length > 0 ? `none; nearest: ${near.join(", ")}` : "none",
    );
  }

  private misfit(full: string, expected: string, got: string): never {
    const hint = "The first key that does not fit: config.json and the weights must come from the same model.";
    throw new VdError({ code: "weights", where: `${this.shared.label}] [${full}`, expected, got, hint });
  }

  private full(name: string): string {
    return this.prefix + (this.path ? `${this.path}.${name}` : name);
  }
}
