import { requireArgument, TEXT } from "@vd/kernels-native";
import h200 from "./defaults/nvidia-h200.json";
import type { TuningTable } from "./table";

/** The tables that come with the package. tooling/gpu/programs/tune.ts makes them. */
const TABLES: readonly TuningTable[] = [h200];

/** The table that comes with the package for a device, by its name; undefined if there is none. */
export function defaultTuningTable(device: string): TuningTable | undefined {
  requireArgument("defaultTuningTable", device, TEXT);
  return TABLES.find((table) => table.device === device);
}
