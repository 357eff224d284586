import { VdError } from "@vd/kernels-native";
import { fromFloat16Array } from "@vd/tensor";
import { type ModelInfo, readModel } from "../onnx/read-model";
import { type InputNumbers, storedNumbers } from "../onnx/stored-numbers";
import type { OrtModule, OrtProviderEntry, OrtSession } from "./ort-module";
import { checkProviders, loadOrt, type Provider } from "./runtime";

/** How to open a session. */
export interface SessionOptions {
  /** In order of preference; the runtime gives operations that one lacks to the next. Default: ["cpu"]. */
  readonly providers?: readonly Provider[] | undefined;
  /** Workers of the CPU provider; default: all cores. */
  readonly threads?: number | undefined;
  /** How much the runtime rewrites the graph before it runs; default "all". */
  readonly optimization?: "disabled" | "basic" | "extended" | "all" | undefined;
  /** Which GPU the cuda and tensorrt providers use; default 0. */
  readonly deviceId?: number | undefined;
}

/** Numbers with their dimensions. */
export interface Numbers {
  readonly data: Float32Array;
  readonly dims: readonly number[];
}

function providerEntries({ providers = ["cpu"], deviceId = 0 }: SessionOptions): OrtProviderEntry[] {
  return providers.map((name) => (name === "cpu" ? name : { name, deviceId }));
}

function refused(where: string, expected: string, cause: unknown, hint?: string): VdError {
  const got = (cause as Error).message.split("\n")[0]!;
  return new VdError({ code: "unsupported", where, expected, got, hint, cause });
}

/**
 * A model that runs in ONNX Runtime.
 *
 * @example
 * ```ts
 * import { OnnxSession } from "@vd/tensorrt";
 *
 * const session = await OnnxSession.open("onnx/image_encoder.onnx", { threads: 4 });
 * const pixels = { data: new Float32Array(3 * 32 * 32), dims: [1, 3, 32, 32] };
 * const { image_embeds } = await session.run({ pixel_values: pixels });
 * console.log(image_embeds!.dims);
 * await session.close();
 * ```
 */
export class OnnxSession {
  private constructor(
    private readonly ort: OrtModule,
    private session: OrtSession | undefined,
    readonly info: ModelInfo,
  ) {}

  /**
   * Opens a model file. The file is checked first, so that what is damaged is told from what the runtime cannot do.
   *
   * @throws VdError `io`, `weights`, `attr` or `unsupported`
   */
  static async open(path: string, options: SessionOptions = {}): Promise<OnnxSession> {
    const ort = loadOrt();
    const { providers = ["cpu"], threads, optimization = "all" } = options;
    checkProviders(ort, providers);
    const info = await readModel(path);
    try {
      const session = await ort.InferenceSession.create(path, {
        executionProviders: providerEntries(options),
        graphOptimizationLevel: optimization,
        logSeverityLevel: 4,
        ...(threads === undefined ? {} : { intraOpNumThreads: threads }),
      });
      return new OnnxSession(ort, session, info);
    } catch (cause) {
      const hint = providers.includes("cpu") && providers.length === 1 ? undefined : PROVIDER_HINT;
      throw refused(path, `a model that ONNX Runtime loads with ${providers.join(", ")}`, cause, hint);
    }
  }

  /**
   * Runs the model. Inputs are converted to the model's types, results to float32.
   *
   * @throws VdError `attr` for a wrong set of inputs, `shape` for dimensions that the model does not take,
   *   `unsupported` for what the runtime refuses
   */
  async run(inputs: Readonly<Record<string, InputNumbers>>): Promise<Record<string, Numbers>> {
    if (!this.session)
      throw new VdError({
        code: "unsupported",
        where: this.info.path,
        expected: "an open session",
        got: "a closed one",
      });
    const feeds = Object.fromEntries(this.info.inputs.map(({ name }) => [name, this.feed(name, inputs[name])]));
    const results = await this.session.run(feeds).catch((cause) => {
      throw refused(this.info.path, "a run", cause);
    });
    return Object.fromEntries(
      Object.entries(results).map(([name, { data, dims, type }]) => [name, { data: toNumbers(data, type), dims }]),
    );
  }

  /** Ends the session. A second call does nothing. */
  async close(): Promise<void> {
    const { session } = this;
    this.session = undefined;
    await session?.release();
  }

  private feed(name: string, given: InputNumbers | undefined) {
    const port = this.info.inputs.find((each) => each.name === name)!;
    const names = this.info.inputs.map((each) => each.name).join(", ");
    if (!given)
      throw new VdError({ code: "attr", where: this.info.path, expected: `inputs ${names}`, got: `none for ${name}` });
    const fits =
      given.dims.length === port.axes.length &&
      port.axes.every((axis, i) => typeof axis === "string" || axis === given.dims[i]) &&
      given.dims.reduce((a, b) => a * b, 1) === given.data.length;
    if (!fits)
      throw new VdError({
        code: "shape",
        where: `${this.info.path}] [${name}`,
        expected: `[${port.axes.join(",")}]`,
        got: `[${given.dims.join(",")}] of ${given.data.length} numbers`,
        hint: "Export the model for this shape, or with --dynamic.",
      });
    const { type, values } = storedNumbers(port.type, given.data);
    return new this.ort.Tensor(type, values, given.dims);
  }
}

const PROVIDER_HINT =
  "The provider's libraries must be installed: CUDA and cuDNN for cuda, TensorRT besides for tensorrt.";

function toNumbers(data: unknown, type: string): Float32Array {
  if (type !== "float16") return type === "float32" ? (data as Float32Array) : Float32Array.from(data as Int32Array);
  const { buffer, byteOffset, byteLength } = data as Uint16Array;
  return fromFloat16Array(new Uint16Array(buffer, byteOffset, byteLength / 2));
}
