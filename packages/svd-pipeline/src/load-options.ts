import type { WeightFormat } from "@vd/hub";
import { type Device, openDevice, VdError } from "@vd/kernels-native";
import { readTuningTable, type Tuning, tuningTableFor } from "@vd/tensor";
import type { LoadOptions, Precision } from "./types";

/** How files name the precisions. */
const FORMATS: Readonly<Record<Precision, WeightFormat>> = { float32: "fp32", float16: "fp16", bfloat16: "bf16" };
const DEVICES = ["cpu", "cuda"] as const;
const MAX_THREADS = 1024;

function choice<T extends string>(where: string, choices: readonly T[], value: T): T {
  if (choices.includes(value)) return value;
  throw new VdError({
    code: "attr",
    where,
    expected: `one of ${choices.join(", ")}`,
    got: typeof value === "string" ? JSON.stringify(value) : String(value),
  });
}

function checkThreads(threads: number | undefined): void {
  if (threads === undefined || (Number.isInteger(threads) && threads >= 1 && threads <= MAX_THREADS)) return;
  throw new VdError({
    code: "attr",
    where: "threads",
    expected: `a whole number from 1 to ${MAX_THREADS}`,
    got: typeof threads === "string" ? JSON.stringify(threads) : String(threads),
  });
}

/** The table at a path. */
function checkTuning(tuning: string | false | undefined): Tuning {
  if (tuning === undefined || tuning === false) return tuning;
  if (typeof tuning === "string" && tuning !== "") return readTuningTable(tuning);
  throw new VdError({
    code: "attr",
    where: "tuning",
    expected: "the path of a tuning table, or false for none",
    got: tuning === "" ? "an empty text" : String(tuning),
  });
}

/** What checked options mean: which files to prefer, and what runs the model. */
export interface CheckedLoad {
  format: WeightFormat;
  device: Device;
  /** Of activations. */
  precision: Precision;
  /** What decides kernel variants. */
  tuning: Tuning;
}

/** Checks everything about opening a model that can be checked before a file is touched, and opens the device.
 *  Throws VdError `attr`, `unsupported` for a device that cannot be used or a tuning table of another one, `io` for one
 *  that cannot be read, `cancelled`. */
export function checkLoad(source: string, options: LoadOptions): CheckedLoad {
  if (typeof source !== "string" || source === "")
    throw new VdError({
      code: "attr",
      where: "model",
      expected: "the path of a folder or file, or a Hub model as org/name",
      got: source === "" ? "an empty text" : String(source),
    });
  const kind = choice("device", DEVICES, options.device ?? "cpu");
  const fallback = kind === "cpu" ? "float32" : "float16";
  const dtype = choice("dtype", Object.keys(FORMATS) as Precision[], options.dtype ?? fallback);
  checkThreads(options.threads);
  throwIfCancelled(options.signal);
  const tuning = checkTuning(options.tuning);
  const device = openDevice(kind, { threads: options.threads });
  tuningTableFor(device, tuning);
  return { format: FORMATS[dtype], device, precision: kind === "cpu" ? "float32" : dtype, tuning };
}

/** Throws VdError `cancelled` once the signal has fired. */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  const cause = signal.reason;
  throw new VdError({ code: "cancelled", where: "model", expected: "to be opened", got: "an abort", cause });
}
