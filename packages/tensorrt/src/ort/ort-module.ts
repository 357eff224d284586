// What this package uses of ONNX Runtime, in types of its own: the runtime is an optional peer, and a program that compiles against
// this package without it has none of its types. `loadOrt` is where the compiler compares them with the real ones.

/** A tensor of ONNX Runtime. */
export interface OrtTensor {
  /** Element type, as ONNX names it: "float32", "float16", … */
  readonly type: string;
  readonly dims: readonly number[];
  /** Typed array of the elements; which one depends on `type`. */
  readonly data: unknown;
}

/** A provider by name, or with the GPU that it uses. */
export type OrtProviderEntry = string | { readonly name: string; readonly deviceId?: number };

/** How ONNX Runtime opens a model. */
export interface OrtSessionOptions {
  /** In order of preference. */
  executionProviders?: readonly OrtProviderEntry[];
  graphOptimizationLevel?: "disabled" | "basic" | "extended" | "all";
  /** Workers within one operation; without it all cores. */
  intraOpNumThreads?: number;
  /** From 0, everything, to 4, what is fatal. */
  logSeverityLevel?: 0 | 1 | 2 | 3 | 4;
}

/** An open model. */
export interface OrtSession {
  /**
   * Computes all outputs, by name, from the inputs, by name.
   *
   * @throws what the runtime refuses
   */
  run(feeds: Readonly<Record<string, OrtTensor>>): Promise<Readonly<Record<string, OrtTensor>>>;
  release(): Promise<void>;
}

/** The module of ONNX Runtime, as far as it is used here. */
export interface OrtModule {
  /**
   * Float32Array for "float32"; Uint16Array (or Float16Array) for "float16"; the array of the same name for whole numbers.
   *
   * @throws Error of the runtime for a length that is not that of dims
   */
  readonly Tensor: new (
    type: "float32" | "float16" | "int32" | "int8" | "uint8",
    data: Float32Array | Uint16Array | Int32Array | Int8Array | Uint8Array,
    dims: readonly number[],
  ) => OrtTensor;
  readonly InferenceSession: {
    create(path: string, options?: OrtSessionOptions): Promise<OrtSession>;
  };
  /** The providers that this build of the runtime knows. */
  listSupportedBackends(): readonly { readonly name: string }[];
}
