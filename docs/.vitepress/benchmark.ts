import { readFileSync } from "node:fs";
import { basename } from "node:path";

/** What a page of results says first. */
export interface Benchmark {
  /** Name of its file, without the ending. */
  slug: string;
  device: string;
  /** How much faster than its peers a whole run is, with the case; undefined where the results have none. */
  headline: string | undefined;
  /** The first part of the headline, "2.3× diffusers". */
  factor: string | undefined;
}

/** Reads device and headline of a page that `vd-bench report` wrote. */
export function readBenchmark(path: string): Benchmark {
  const text = readFileSync(path, "utf8");
  const headline = /^\*\*(.+)\.\*\*$/m.exec(text)?.[1];
  const device = /^# (.*)$/m.exec(text)?.[1] ?? "";
  return { slug: basename(path, ".md"), device, headline, factor: headline && /^[^,–]+/.exec(headline)?.[0].trim() };
}
