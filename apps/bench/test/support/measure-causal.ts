import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BenchFile, BenchRow } from "../../src/measure/report";
import { TINY_SVD, vdBench } from "./harness";
import { temporaryFolder } from "./temporary-folder";

/** The cases of the causal autoencoder. */
export const CAUSAL_CASES = ["causal-encode-switches", "causal-decode-switches"];

/** Runs those on the CPU. row: what the file has of a contender. */
export async function measureCausal(extra: readonly string[]) {
  const json = join(temporaryFolder(), "vae.json");
  const once = ["--device", "cpu", "--threads", "2", "--rounds", "1", "--repeats", "2", "--peers", "none"];
  const ran = await vdBench([
    "vae",
    "-m",
    TINY_SVD,
    "--json",
    json,
    "--cases",
    CAUSAL_CASES.join(","),
    ...once,
    ...extra,
  ]);
  const file = existsSync(json) ? (JSON.parse(readFileSync(json, "utf8")) as BenchFile) : undefined;
  const row = (suite: string, contender: string): BenchRow | undefined =>
    file?.rows.find((each) => each.suite === suite && each.contender === contender);
  return { ...ran, file, row };
}
