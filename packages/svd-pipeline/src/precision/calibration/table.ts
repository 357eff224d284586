import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { OBJECT, PATH, requireArgument, requireFields, VdError } from "@vd/kernels-native";
import { fileError, type QuantizedType, statIfThere, writeWholeFile } from "@vd/tensor";
import type { MergedLora } from "../../opening/components";
import type { LayerScales, ScaleTable } from "../layer-scales";

/** A LoRA by its contents. */
export type KnownLora = Pick<MergedLora, "weight" | "sha256">;

/** What calibration found out about a model. */
export interface CalibrationTable {
  /** The checksum of the model. */
  model: string;
  /** What was merged into it. */
  loras: readonly KnownLora[];
  /** Of the generations that it was found by. */
  generations: { pictures: number; steps: number; numFrames: number; width: number; height: number };
  layers: ScaleTable;
}

const FORMAT = "vd-calibration";
const VERSION = 1;

/** Name of the table beside a model. */
export const CALIBRATION_NAME = "calibration.json";

/** Returns where a model's table lies unless it is said: in the model's folder, or beside its file. */
export async function calibrationBeside(source: string): Promise<string> {
  requireArgument("calibrationBeside", source, PATH);
  const isFile = await stat(source).then(
    (found) => found.isFile(),
    () => false,
  );
  return isFile ? source.replace(/\.safetensors$/, `.${CALIBRATION_NAME}`) : join(source, CALIBRATION_NAME);
}

type JsonScales = Omit<LayerScales, "exponents"> & { exponents?: readonly number[] };

const toJson = ({ largest, error, exponents }: LayerScales): JsonScales => ({
  ...{ largest, error },
  ...(exponents && { exponents: [...exponents] }),
});

function textOf({ layers, ...table }: CalibrationTable): string {
  const lines = [...layers].map(([name, types]) => {
    const scales = Object.entries(types).map(([type, each]) => [type, toJson(each)] as const);
    return `${JSON.stringify(name)}: ${JSON.stringify(Object.fromEntries(scales))}`;
  });
  const head = JSON.stringify({ format: FORMAT, version: VERSION, ...table }).slice(0, -1);
  return `${head}, "layers": {\n${lines.join(",\n")}\n}}\n`;
}

/**
 * Writes a table, whole or not at all.
 *
 * @throws VdError `io`
 */
export async function saveCalibration(path: string, table: CalibrationTable): Promise<void> {
  requireArgument("saveCalibration", path, PATH);
  requireFields("saveCalibration table", table, { layers: OBJECT });
  await writeWholeFile(path, textOf(table), { overwrite: true });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isPositive = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value >= 0;

const isExponent = (value: unknown) => Number.isInteger(value) && Math.abs(value as number) <= 127;

function faultOf(path: string, expected: string, got: string): VdError {
  const hint = "Make it again with vd-generate calibrate, or leave it out with calibration: none.";
  return new VdError({ code: "weights", where: path, expected, got, hint });
}

function scalesOf(path: string, layer: string, json: unknown): LayerScales {
  const { largest, error, exponents } = isObject(json) ? json : {};
  const isList = exponents === undefined || (Array.isArray(exponents) && exponents.every(isExponent));
  if (!isPositive(largest) || !isPositive(error) || !isList)
    throw faultOf(
      `${path}] [${layer}`,
      "a largest magnitude, an error and a list of exponents",
      JSON.stringify(json).slice(0, 60),
    );
  return { largest, error, ...(exponents !== undefined && { exponents: Int8Array.from(exponents as number[]) }) };
}

function layersOf(path: string, json: unknown): ScaleTable {
  if (!isObject(json)) throw faultOf(path, "layers by their names", typeof json);
  const types: readonly QuantizedType[] = ["i8", "f8e4m3"];
  return new Map(
    Object.entries(json).map(([name, each]) => {
      const given = isObject(each) ? each : {};
      return [name, Object.fromEntries(types.map((type) => [type, scalesOf(path, name, given[type])]))];
    }),
  );
}

/** Reads a table out of the text of a file. @throws VdError `weights` for what is no table, or one of a later version */
export function parseCalibration(path: string, text: string): CalibrationTable {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw faultOf(path, "a calibration table", "no JSON");
  }
  if (!isObject(json) || json.format !== FORMAT) throw faultOf(path, "a calibration table", "another file");
  if (json.version !== VERSION) throw faultOf(path, `version ${VERSION}`, `version ${String(json.version)}`);
  const { model, loras, generations } = json as unknown as CalibrationTable;
  if (typeof model !== "string" || !Array.isArray(loras)) throw faultOf(path, "the model that it is of", "none");
  return { model, loras, generations, layers: layersOf(path, json.layers) };
}

/**
 * Reads a table.
 *
 * @throws VdError `io` for a file that cannot be read, `weights` for what is no table
 */
export async function readCalibration(path: string): Promise<CalibrationTable> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw fileError(path, "a calibration table that can be read", cause, "calibration");
  }
  return parseCalibration(path, text);
}

/**
 * Finds the table of a model: the named one, or the one beside the model if there is one.
 *
 * @throws VdError `weights` for a table of another model, `io` for a named one that is not there
 */
export async function findCalibration(
  source: string,
  model: string,
  named: string | undefined,
): Promise<CalibrationTable | undefined> {
  if (named === "none") return undefined;
  const path = named ?? (await calibrationBeside(source));
  if (named === undefined && !(await statIfThere(path))) return undefined;
  const table = await readCalibration(path);
  if (table.model === model) return table;
  throw faultOf(
    path,
    `a table of ${source} (${model.slice(0, 8)})`,
    `one of another model (${table.model.slice(0, 8)})`,
  );
}

/** True if both name the same LoRAs in the same weights. */
export const sameLoras = (a: readonly KnownLora[], b: readonly KnownLora[]): boolean =>
  a.length === b.length && a.every(({ weight, sha256 }, i) => b[i]!.weight === weight && b[i]!.sha256 === sha256);
