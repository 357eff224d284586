import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { having, listOf, OBJECT, optional, PATH, requireFields, SIGNAL, VdError } from "@vd/kernels-native";
import type { ModelInfo, Port } from "../onnx/read-model";
import { type InputNumbers, storedNumbers } from "../onnx/stored-numbers";
import type { Numbers } from "../ort/session";
import { runArguments } from "./command";
import type { Engine } from "./engine";
import type { TensorRt } from "./find";
import { runProcess } from "./process";

/** How to run an engine. */
export interface EngineRunOptions {
  readonly tensorRt: TensorRt;
  readonly deviceId?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const MODEL = { inputs: listOf(OBJECT) };
const RUN = { tensorRt: having("TensorRT", ["trtexec"], "findTensorRt finds it."), signal: optional(SIGNAL) };

function bytesOf({ name, type }: Port, given: InputNumbers | undefined, where: string): Uint8Array {
  if (!given) throw new VdError({ code: "attr", where, expected: `an input ${name}`, got: "none" });
  const { values } = storedNumbers(type, given.data);
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

/** One result as trtexec writes it. */
interface ExportedTensor {
  name: string;
  dimensions: string;
  values: number[];
}

function parseResults(path: string, text: string): Record<string, Numbers> {
  try {
    const tensors = JSON.parse(text) as ExportedTensor[];
    return Object.fromEntries(
      tensors.map(({ name, dimensions, values }) => {
        const dims = dimensions.split("x").map(Number);
        if (dims.reduce((a, b) => a * b, 1) !== values.length)
          throw new Error(`${values.length} values for ${dimensions}`);
        return [name, { data: Float32Array.from(values), dims }];
      }),
    );
  } catch (cause) {
    const got = (cause as Error).message;
    throw new VdError({ code: "io", where: path, expected: "results in trtexec's JSON", got, cause });
  }
}

/**
 * Runs an engine once through trtexec: inputs and results go through files, and the engine is loaded anew, so this is
 * for checks and small models. model: what the engine was built from.
 *
 * @throws VdError `attr`, `unsupported`, `io`, `cancelled`
 */
export async function runEngine(
  engine: Engine,
  model: ModelInfo,
  inputs: Readonly<Record<string, InputNumbers>>,
  options: EngineRunOptions,
): Promise<Record<string, Numbers>> {
  requireFields("runEngine engine", engine, { path: PATH });
  requireFields("runEngine model", model, MODEL);
  requireFields("runEngine inputs", inputs, {});
  requireFields("runEngine", options, RUN);
  const { tensorRt, deviceId, signal } = options;
  const dir = await mkdtemp(join(tmpdir(), "vd-trt-"));
  try {
    const files = [];
    for (const port of model.inputs) {
      const path = join(dir, `${port.name}.bin`);
      await writeFile(path, bytesOf(port, inputs[port.name], engine.path));
      const isFree = port.axes.some((axis) => typeof axis === "string");
      files.push({ name: port.name, path, dims: inputs[port.name]!.dims, isFree });
    }
    const output = join(dir, "results.json");
    await runProcess(tensorRt.trtexec, runArguments(engine.path, files, output, deviceId), { signal });
    return parseResults(output, await readFile(output, "utf8"));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
