import type { WeightFormat } from "@vd/hub";
import { type Device, openDevice, throwIfAborted, VdError } from "@vd/kernels-native";
import {
  chooseDevice,
  DeviceTeam,
  kindOfDevice,
  openDevices,
  readTuningTable,
  type Tuning,
  tuningTableFor,
} from "@vd/tensor";
import type { LoraChoice } from "../lora/merge-loras";
import { checkTable } from "./check-table";
import { checkValue } from "./check-value";
import { type Convolutions, type LayerPrecision, type Precision, WEIGHT_FORMATS } from "./choices";
import { LOAD_TABLE } from "./load-table";
import type { LoadOptions, LoadValues } from "./option-types.generated";

/** What checked options mean: which files to prefer, and what runs the model. */
export interface CheckedLoad {
  format: WeightFormat;
  device: Device;
  /** Where several devices share a generation; `device` is the first of them. */
  team: DeviceTeam | undefined;
  /** Of activations. */
  precision: Precision;
  /** Which layers are computed in 8 bits, and what is known of their inputs: a table's name, `none`, or undefined for the one beside the
   *  model. */
  layers: { precision: LayerPrecision; calibration: string | undefined; convolutions: Convolutions };
  /** What decides kernel variants. */
  tuning: Tuning;
  loras: readonly LoraChoice[];
}

/** The kind of the devices, if there is a list of them. */
function withKind(options: LoadOptions): LoadOptions {
  // What is no object of options is refused with the table.
  if (options?.devices === undefined) return options;
  const [first] = checkValue(LOAD_TABLE.devices.kind, "devices", options.devices);
  const device = kindOfDevice(first!);
  if (options.device === undefined || options.device === device) return { ...options, device };
  const expected = `devices of the kind that device says, ${options.device}`;
  throw new VdError({ code: "attr", where: "devices", expected, got: first!, hint: "Leave device out." });
}

/**
 * Checks everything about opening a model that can be checked before a file is touched, and opens the device.
 *
 * @throws VdError `attr`, `unsupported` for a device that cannot be used or a tuning table of another one, `io` for one
 *   that cannot be read, `cancelled`
 */
export function checkLoad(source: string, options: LoadOptions): CheckedLoad {
  if (typeof source !== "string" || source === "")
    throw new VdError({
      code: "attr",
      where: "model",
      expected: "the path of a folder or file, or a Hub model as org/name",
      got: source === "" ? "an empty text" : String(source),
    });
  const { device: name, devices } = checkTable("load", LOAD_TABLE, withKind(options)) as unknown as LoadValues;
  const { kind, index } = chooseDevice(name);
  // Other defaults follow from the kind of device.
  const {
    dtype,
    threads,
    cpuMath: math,
    precision,
    calibration,
    convolutions,
  } = checkTable("load", LOAD_TABLE, {
    ...options,
    device: kind,
  }) as unknown as LoadValues;
  throwIfAborted(options.signal, source, { work: "the opening" });
  const tuning = typeof options.tuning === "string" ? readTuningTable(options.tuning) : options.tuning;
  const opened = devices && openDevices(devices, { threads, math });
  const device = opened ? opened[0]!.device : openDevice(kind, kind === "cuda" ? { index } : { threads, math });
  const team = opened && opened.length > 1 ? new DeviceTeam(opened) : undefined;
  tuningTableFor(device, tuning);
  return {
    ...{ format: WEIGHT_FORMATS[dtype], device, team, tuning },
    precision: kind === "cpu" ? "float32" : dtype,
    layers: { precision, calibration, convolutions },
    loras: options.loras ?? [],
  };
}
