import type { WeightFormat } from "@vd/hub";
import { type Device, openDevice, throwIfAborted, VdError } from "@vd/kernels-native";
import { readTuningTable, type Tuning, tuningTableFor } from "@vd/tensor";
import type { LoraChoice } from "../lora/merge-loras";
import { checkTable } from "./check-table";
import { type Precision, WEIGHT_FORMATS } from "./choices";
import { chooseDevice } from "./choose-device";
import { LOAD_TABLE } from "./load-table";
import type { LoadOptions, LoadValues } from "./option-types.generated";

/** What checked options mean: which files to prefer, and what runs the model. */
export interface CheckedLoad {
  format: WeightFormat;
  device: Device;
  /** Of activations. */
  precision: Precision;
  /** What decides kernel variants. */
  tuning: Tuning;
  loras: readonly LoraChoice[];
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
  const { device: name } = checkTable("load", LOAD_TABLE, options) as unknown as LoadValues;
  const { kind, index } = chooseDevice(name);
  // Other defaults follow from the kind of device.
  const { dtype, threads } = checkTable("load", LOAD_TABLE, { ...options, device: kind }) as unknown as LoadValues;
  throwIfAborted(options.signal, source, { work: "the opening" });
  const tuning = typeof options.tuning === "string" ? readTuningTable(options.tuning) : options.tuning;
  const device = openDevice(kind, kind === "cuda" ? { index } : { threads });
  tuningTableFor(device, tuning);
  return {
    format: WEIGHT_FORMATS[dtype],
    device,
    precision: kind === "cpu" ? "float32" : dtype,
    tuning,
    loras: options.loras ?? [],
  };
}
