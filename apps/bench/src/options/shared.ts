import type { DeviceKind } from "@vd/kernels-native";
import type { Precision } from "@vd/svd-pipeline";
import { cliRows, GENERATE_TABLE, helpText, LOAD_TABLE, readSize, readText } from "@vd/svd-pipeline/options";
import { Option } from "commander";

const ROWS = new Map([GENERATE_TABLE, LOAD_TABLE].flatMap(cliRows).map((row) => [row.key, row]));

/** Names of options that mean the same here as in vd-generate. */
export type SharedName = "device" | "dtype" | "frames" | "size" | "steps" | "threads";

/** Makes an option of the pipeline for a command; `value` is the command's own default. */
export function sharedOption(name: SharedName, value?: string): Option {
  const row = ROWS.get(name)!;
  const option = new Option(row.form.flags, value === undefined ? helpText(row) : helpText(row, ""));
  return value === undefined ? option : option.default(value);
}

/**
 * Reads --device.
 *
 * @throws VdError `attr`
 */
export const readDevice = (text: string): DeviceKind => readText(LOAD_TABLE.device.kind, text, "--device");

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
