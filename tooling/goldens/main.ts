import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { findFixturePaths } from "./fixture";
import type { GoldenContext } from "./kind";
import { loadKinds } from "./kinds/index";
import { formatJson, formatResult, formatSummary } from "./report";
import { type FixtureResult, runFixture } from "./run-fixture";

const usage = `Usage: pnpm goldens [DIR] [--device cpu|cuda] [--dtype float32|float16|bfloat16] [--json]

Runs every fixture (NAME.json with NAME.safetensors) under DIR, by default the committed ones, and prints per file the
tensor that came nearest to its tolerance. A fixture of an unknown kind fails, unless tooling/goldens/not-checked.json
says why nothing checks it. Exit status: 0 nothing failed, 1 something failed, 2 wrong usage.`;

const devices = ["cpu", "cuda"] as const;
const dtypes = ["float32", "float16", "bfloat16"] as const;

class UsageError extends Error {}

interface Options {
  dir: string;
  context: GoldenContext;
  json: boolean;
  help: boolean;
}

function oneOf<T extends string>(option: string, allowed: readonly T[], value: string): T {
  const found = allowed.find((name) => name === value);
  if (found === undefined) throw new UsageError(`${option}: expected ${allowed.join(", ")}, got ${value}`);
  return found;
}

function parseOptions(args: string[]): Options {
  const options = {
    device: { type: "string", default: "cpu" },
    dtype: { type: "string", default: "float32" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
  } as const;
  const parse = () => {
    try {
      return parseArgs({ args, options, allowPositionals: true });
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
  };
  const { values, positionals } = parse();
  if (positionals.length > 1) throw new UsageError(`expected one DIR at most, got ${positionals.join(" ")}`);
  return {
    dir: positionals[0] ?? fileURLToPath(new URL("../../fixtures", import.meta.url)),
    context: { device: oneOf("--device", devices, values.device), dtype: oneOf("--dtype", dtypes, values.dtype) },
    json: values.json,
    help: values.help,
  };
}

function fixturePaths(dir: string): string[] {
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) throw new UsageError(`${dir}: expected a folder`);
  const paths = findFixturePaths(dir);
  if (paths.length === 0) throw new UsageError(`${dir}: expected NAME.json with NAME.safetensors, found none`);
  return paths;
}

async function main(args: string[]): Promise<number> {
  const { dir, context, json, help } = parseOptions(args);
  if (help) {
    console.log(usage);
    return 0;
  }
  const paths = fixturePaths(dir);
  const { kinds, broken } = await loadKinds();
  for (const { file, error } of broken) console.error(`tooling/goldens/kinds/${file} could not be loaded: ${error}`);
  const results: FixtureResult[] = [];
  for (const path of paths) {
    const result = await runFixture(path, kinds, context);
    results.push(result);
    if (!json) console.log(formatResult(result));
  }
  console.log(json ? formatJson(results, context) : formatSummary(results));
  const has = (wanted: FixtureResult["status"]) => results.some(({ status }) => status === wanted);
  return has("fail") || broken.length > 0 ? 1 : 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`goldens: ${error.message}\n\n${usage}`);
  process.exitCode = 2;
}
