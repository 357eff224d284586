import { type DeviceInfo, type DeviceKind, VdError } from "@vd/kernels-native";
import type { Convolutions, LayerPrecision, Precision } from "@vd/svd-pipeline";
import {
  type CliRow,
  cliRows,
  defaultOf,
  docOf,
  GENERATE_TABLE,
  helpLine,
  helpText,
  LOAD_TABLE,
  type OptionTable,
  readSize,
  readText,
  writtenKind,
} from "@vd/svd-pipeline/options";
import { chooseDevice, deviceLabel } from "@vd/tensor";
import { Option } from "commander";
import { BENCH_TABLE } from "./tables";

const rowsByKey = (tables: readonly OptionTable[]) => new Map(tables.flatMap(cliRows).map((row) => [row.key, row]));
const SHARED_ROWS = rowsByKey([GENERATE_TABLE, LOAD_TABLE]);
const OWN_ROWS = new Map(cliRows(BENCH_TABLE).map((row) => [row.options[0]!, row]));

/** Names of options that mean the same here as in vd-generate. */
export type SharedName =
  | "calibration"
  | "convolutions"
  | "device"
  | "devices"
  | "dtype"
  | "frames"
  | "precision"
  | "size"
  | "steps"
  | "threads";

/** Names of the options that only vd-bench has. */
export type OwnName = keyof typeof BENCH_TABLE;

/** Makes an option of the pipeline for a command; `value` is the command's own default. */
export const sharedOption = (name: SharedName, value?: string): Option => optionOf(SHARED_ROWS.get(name)!, value);

/** Makes an option of vd-bench for a command; `value` is the command's own default instead of the table's. */
export function ownOption(name: OwnName, value?: string): Option {
  const row = OWN_ROWS.get(name)!;
  // A switch of the form --no-x is on by itself.
  const isSwitch = writtenKind(row).kind === "boolean";
  return isSwitch ? new Option(row.form.flags, helpLine(docOf(row))) : optionOf(row, value ?? defaultOf(row));
}

/** Makes an option of vd-bench that a command cannot do without. */
export const requiredOption = (name: OwnName): Option => ownOption(name).makeOptionMandatory();

function optionOf(row: CliRow, value: string | undefined): Option {
  const option = new Option(row.form.flags, value === undefined ? helpText(row) : helpText(row, ""));
  return value === undefined ? option : option.default(value);
}

/**
 * Reads a count or another number that only vd-bench has.
 *
 * @throws VdError `attr`
 */
export function readNumber(name: "rounds" | "repeats" | "e2eRounds" | "limit" | "inputSeed", text: string): number {
  return readText(BENCH_TABLE[name].kind, text, OWN_ROWS.get(name)!.name);
}

/**
 * Reads --device; `auto` is what this machine has. all: the devices of the machine, looked up where the name needs them.
 *
 * @throws VdError `attr`, `unsupported` for a GPU that is not there, or that is not the first one
 */
export function readDevice(text: string, all?: () => readonly DeviceInfo[]): DeviceKind {
  const { kind, index } = chooseDevice(readText(LOAD_TABLE.device.kind, text, "--device"), all);
  if (index === 0) return kind;
  const expected = "the first GPU that the driver shows, which is what vd-bench measures";
  const hint = `Set CUDA_VISIBLE_DEVICES=${index}, and choose cuda.`;
  throw new VdError({ code: "unsupported", where: "--device", expected, got: `cuda:${index}`, hint });
}

/**
 * Reads --devices by their one name, `cuda:1` for 1; undefined is the one device.
 *
 * @throws VdError `attr`
 */
export const readDevices = (text: string | undefined): readonly string[] | undefined =>
  text === undefined ? undefined : readText(LOAD_TABLE.devices.kind, text, "--devices").map(deviceLabel);

/**
 * Reads --dtype; undefined is the device's own.
 *
 * @throws VdError `attr`
 */
export function readPrecision(text: string | undefined, device: DeviceKind): Precision {
  const { kind, default: fallback, cli } = LOAD_TABLE.dtype;
  return readText(kind, text ?? fallback[device], "--dtype", cli.words);
}

/**
 * Reads --precision, --calibration and --convolutions; without the first no layer is computed in 8 bits.
 *
 * @throws VdError `attr`
 */
export function readLayers(texts: { precision?: unknown; calibration?: unknown; convolutions?: unknown }): {
  layers: LayerPrecision | undefined;
  convolutions: Convolutions | undefined;
  calibration: string | undefined;
} {
  const { precision: row, convolutions: ways } = LOAD_TABLE;
  const { precision, calibration, convolutions } = texts;
  return {
    layers: precision === undefined ? undefined : readText(row.kind, String(precision), "--precision"),
    convolutions: convolutions === undefined ? undefined : readText(ways.kind, String(convolutions), "--convolutions"),
    calibration: calibration === undefined ? undefined : String(calibration),
  };
}

/**
 * Reads --threads; undefined is the addon's own choice.
 *
 * @throws VdError `attr`
 */
export const readThreads = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : readText(LOAD_TABLE.threads.kind, text, "--threads");

/**
 * Reads --frames.
 *
 * @throws VdError `attr`
 */
export const readFrames = (text: string): number => readText(GENERATE_TABLE.numFrames.kind, text, "--frames");

/**
 * Reads --steps.
 *
 * @throws VdError `attr`
 */
export const readSteps = (text: string): number => readText(GENERATE_TABLE.steps.kind, text, "--steps");

/**
 * Reads --size.
 *
 * @throws VdError `attr`
 */
export function readFrameSize(text: string): { width: number; height: number } {
  const [width, height] = readSize(GENERATE_TABLE.width.kind, text, "--size");
  return { width, height };
}
