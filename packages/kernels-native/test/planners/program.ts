import { execFile, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const compiler = process.env.CXX ?? "g++";

/** Whether there is a compiler for the program. */
export const hasCompiler = spawnSync(compiler, ["--version"]).status === 0;

/** Whose planners are asked: those that have a choice. */
const OPS = [
  ...[
    "attention",
    "attention_backward",
    "attention_f8",
    "attention_f8_codes",
    "conv",
    "conv_q8",
    "copy",
    "elementwise",
    "frames_out",
    "group_norm",
  ],
  ...[
    "conv_q8_codes",
    "group_norm_conv",
    "group_norm_conv_q8",
    "group_norm_stats",
    "layer_norm",
    "layer_norm_linear",
    "layer_norm_linear_q8",
    "layer_norm_linear_q8_codes",
    "layer_norm_q8",
    "linear",
    "linear_q8",
    "linear_q8_codes",
    "pointwise",
    "quantize",
    "resize",
  ],
  ...["rms_norm", "sampler_step", "token_embed"],
];

/** What a planner found for one row. */
interface Found {
  /** Variants that it can have, the guess first. */
  variants: string[];
  /** Why it cannot have others, by name. */
  rejected: Record<string, string>;
}

/** What planners find for the program's rows. */
export interface Planners {
  /** Returns what is found for each row on an architecture. */
  found(smVersion: number): Record<string, Found>;
  /** Returns the variants of each row on an architecture, the guess first. */
  candidates(smVersion: number): Record<string, string[]>;
  /** Returns why a row cannot have others there, by name. */
  rejected(smVersion: number, row: string): Record<string, string>;
}

const sourcesIn = (folder: string, ending: string) =>
  readdirSync(here(folder))
    .filter((name) => name.endsWith(ending) && name !== "planners.cc")
    .map((name) => here(join(folder, name)));

/** Compiles the planners and the rows that they are asked about into `folder`. */
export async function buildPlanners(folder: string): Promise<void> {
  const sources = [
    ...sourcesIn(".", ".cc"),
    ...sourcesIn("../../native/cuda/planning", ".cc"),
    ...OPS.flatMap((op) => sourcesIn(`../../ops/${op}`, ".cuda.cc")),
  ];
  const objects = await Promise.all(
    sources.map(async (source, i) => {
      const object = join(folder, `${i}.o`);
      await promisify(execFile)(compiler, ["-std=c++20", "-c", "-o", object, source]);
      return object;
    }),
  );
  await promisify(execFile)(compiler, ["-o", join(folder, "candidates"), ...objects]);
}

/** Runs what {@link buildPlanners} built into `folder`. */
function askPlanners(folder: string, smVersion: number): Record<string, Found> {
  const { stdout, status, stderr } = spawnSync(join(folder, "candidates"), [`${smVersion}`], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  const rows: Record<string, Found> = {};
  for (const line of stdout.trimEnd().split("\n")) {
    const [row, name, reason] = line.split("\t") as [string, string, string];
    rows[row] ??= { variants: [], rejected: {} };
    if (reason) rows[row].rejected[name] = reason;
    else rows[row].variants.push(name);
  }
  return rows;
}

/** The planners that are, or will be, built in `folder`; each architecture is asked for once. */
export function plannersIn(folder: string): Planners {
  const known = new Map<number, Record<string, Found>>();
  const found = (smVersion: number): Record<string, Found> => {
    const rows = known.get(smVersion) ?? askPlanners(folder, smVersion);
    known.set(smVersion, rows);
    return rows;
  };
  return {
    found,
    candidates: (smVersion) =>
      Object.fromEntries(Object.entries(found(smVersion)).map(([row, { variants }]) => [row, variants])),
    rejected: (smVersion, row) => found(smVersion)[row]!.rejected,
  };
}
