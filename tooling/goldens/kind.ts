import type { DType } from "@vd/kernels-native";

/** How one golden tensor compared with ours. */
export interface TensorCheck {
  /** The fixture's own tensor name, e.g. `out.mid`. */
  name: string;
  /** The measured error in `metric`; NaN when our output holds NaN or has the wrong length. */
  error: number;
  /** The largest error that passes. */
  tolerance: number;
  metric: "rel_l2" | "maxabs" | "exact" | "psnr_db";
  ok: boolean;
  /** What to say beside a failure, e.g. a shape that differs. */
  note?: string;
}

/** Where the checks run. */
export interface GoldenContext {
  device: "cpu" | "cuda";
  dtype: "float32" | "float16" | "bfloat16";
}

const DTYPES = { float32: "f32", float16: "f16", bfloat16: "bf16" } as const satisfies Record<string, DType>;

/** The type of activations: on the CPU they are float32 whatever the weights are. */
export const activationType = ({ device, dtype }: GoldenContext): DType => (device === "cpu" ? "f32" : DTYPES[dtype]);

/** One `<stem>.json` with its `<stem>.safetensors`. */
export interface Fixture {
  /** Folder and stem, e.g. `unet/unet_a`. */
  label: string;
  /** Absolute path of the JSON file; sibling files (pictures) lie beside it. */
  jsonPath: string;
  // biome-ignore lint/suspicious/noExplicitAny: every kind has its own JSON form, read by that kind alone
  json: any;
  names: readonly string[];
  has(name: string): boolean;
  shape(name: string): readonly number[];
  /** Any stored number type as float64; 64-bit integers must be below 2^53. */
  float64(name: string): Float64Array;
  float32(name: string): Float32Array;
  /** The stored bytes. */
  bytes(name: string): Uint8Array;
  dtype(name: string): string;
  /** The safetensors file itself, for kinds that load a model from it. */
  tensorsPath: string;
}

/** Checks fixtures of one kind; add one by adding a file in `kinds/`. */
export interface GoldenKind {
  /** The JSON's `kind`, or a predicate where the JSON has none. */
  kind: string;
  matches?(fixture: Fixture): boolean;
  /** Why the fixture cannot be checked in a context; undefined where it can. */
  cannotRun?(fixture: Fixture, context: GoldenContext): string | undefined;
  /** Yields in the order in which the model computes, so that the first failure is the first divergence. */
  run(fixture: Fixture, context: GoldenContext): AsyncIterable<TensorCheck>;
}
