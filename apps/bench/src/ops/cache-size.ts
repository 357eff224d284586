import { readdirSync, readFileSync } from "node:fs";

/** Where Linux describes the caches of the first core. */
const CACHES = "/sys/devices/system/cpu/cpu0/cache";
/** What is assumed where nothing can be known: more than most machines have per few cores. */
const CPU_BYTES = 32 * 2 ** 20;
/** The largest second-level cache of a GPU that is named here: the H200's has 60 MB, the B200's 126 MB. */
const GPU_BYTES = 128 * 2 ** 20;
const UNITS: Readonly<Record<string, number>> = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };
/** Virtual machines show the whole processor's cache; operands need not exceed more than this. */
const MOST_BYTES = 64 * 2 ** 20;

/** Bytes of the last cache before memory, as far as they matter here. */
export function cacheBytes(device: "cpu" | "cuda", folder = CACHES): number {
  if (device === "cuda") return GPU_BYTES;
  try {
    const sizes = readdirSync(folder)
      .filter((name) => name.startsWith("index"))
      .map((name) => /^(\d+)([KMG])/.exec(readFileSync(`${folder}/${name}/size`, "utf8")))
      .map((found) => (found ? Number(found[1]) * UNITS[found[2]!]! : 0));
    return Math.min(Math.max(...sizes, 0) || CPU_BYTES, MOST_BYTES);
  } catch {
    return CPU_BYTES;
  }
}
