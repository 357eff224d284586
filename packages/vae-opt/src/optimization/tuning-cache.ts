import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Device, listGpus } from "@vd/kernels-native";
import {
  defaultTuningTable,
  type GraphLayout,
  makeFolder,
  readTuningTable,
  type TuningProgress,
  type TuningTable,
  tunePlan,
  writeTuningTable,
} from "@vd/tensor";

/** How kernel variants are measured. */
export interface TuningCacheOptions {
  /** Folder of the tables, one for each card. Default `.cache/vd/tuning` in the home folder. */
  folder?: string | undefined;
  /** Hears of every pass. */
  onProgress?: ((progress: TuningProgress) => void) | undefined;
}

/** Tables of measured kernel variants, one file for each card. */
export class TuningCache {
  private table: TuningTable | undefined;

  constructor(
    private readonly device: Device,
    private readonly options: TuningCacheOptions = {},
  ) {}

  /** The file of this card's table. */
  get path(): string {
    const { folder = join(homedir(), ".cache", "vd", "tuning") } = this.options;
    return join(folder, `${this.device.name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.json`);
  }

  /**
   * Returns a table that knows every row of a layout: rows that no table knows yet are measured, and kept in the file.
   * Undefined on the CPU, which has nothing to choose from.
   *
   * @throws VdError `attr` for a file that is no table, `io` where it cannot be read or written, `cancelled`
   */
  async tableFor(layout: GraphLayout, signal?: AbortSignal): Promise<TuningTable | undefined> {
    if (this.device.kind === "cpu") return undefined;
    const known = this.table ?? this.stored();
    const { onProgress } = this.options;
    const found = await tunePlan(this.device, layout, {
      batchInvariant: true,
      known: known.entries,
      signal,
      onProgress,
    });
    this.table = { ...known, entries: { ...known.entries, ...found } };
    if (Object.keys(found).length > 0) {
      await makeFolder(join(this.path, ".."));
      writeTuningTable(this.path, this.table);
    }
    return this.table;
  }

  private stored(): TuningTable {
    if (existsSync(this.path)) return readTuningTable(this.path);
    const empty = {
      device: this.device.name,
      driverVersion: listGpus().driverVersion,
      kernelHash: "unknown",
      entries: {},
    };
    return defaultTuningTable(this.device.name) ?? empty;
  }
}
