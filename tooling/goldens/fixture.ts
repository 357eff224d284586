import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { VdError } from "@vd/kernels-native";
import { SafetensorsFile } from "@vd/tensor";
import type { Fixture } from "./kind";

/** A fixture whose tensor file is open; close it when done. */
export interface OpenFixture extends Fixture {
  close(): void;
}

function tensorsPathOf(jsonPath: string): string {
  return jsonPath.replace(/\.json$/, ".safetensors");
}

function readJson(jsonPath: string): unknown {
  let text: string;
  try {
    text = readFileSync(jsonPath, "utf8");
  } catch (cause) {
    const got = (cause as Error).message;
    throw new VdError({ code: "io", where: jsonPath, expected: "a readable fixture", got, cause });
  }
  try {
    const json: unknown = JSON.parse(text);
    if (typeof json === "object" && json !== null && !Array.isArray(json)) return json;
    throw new SyntaxError("something else");
  } catch (cause) {
    const got = (cause as Error).message;
    throw new VdError({ code: "io", where: jsonPath, expected: "a JSON object", got, cause });
  }
}

/**
 * Opens the fixture whose description is at `jsonPath`, with the .safetensors file of the same stem. Throws `io` or
 * `weights` where one of the two cannot be read.
 */
export function loadFixture(jsonPath: string): OpenFixture {
  const absolute = resolve(jsonPath);
  const json = readJson(absolute);
  const tensorsPath = tensorsPathOf(absolute);
  const file = SafetensorsFile.open(tensorsPath);
  return {
    label: `${basename(dirname(absolute))}/${basename(absolute, ".json")}`,
    jsonPath: absolute,
    json,
    names: [...file.entries.keys()],
    has: (name) => file.entries.has(name),
    shape: (name) => file.entry(name).shape,
    float64: (name) => file.readFloat64(name),
    float32: (name) => file.readFloat32(name),
    bytes: (name) => file.readBytes(name),
    dtype: (name) => file.entry(name).dtype,
    tensorsPath,
    close: () => file.close(),
  };
}

/** Paths of every *.json under `dir` with a .safetensors file of the same stem beside it, sorted. Throws `io`. */
export function findFixturePaths(dir: string): string[] {
  let names: string[];
  try {
    names = readdirSync(dir, { recursive: true, encoding: "utf8" });
  } catch (cause) {
    const got = (cause as NodeJS.ErrnoException).code === "ENOENT" ? "no such folder" : (cause as Error).message;
    throw new VdError({ code: "io", where: dir, expected: "a folder of fixtures", got, cause });
  }
  const paths = names.filter((name) => name.endsWith(".json")).map((name) => resolve(join(dir, name)));
  return paths.filter((path) => existsSync(tensorsPathOf(path))).sort();
}

/** Opens every fixture under `dir`, sorted by path. Throws as {@link loadFixture} and {@link findFixturePaths}. */
export function findFixtures(dir: string): OpenFixture[] {
  return findFixturePaths(dir).map(loadFixture);
}
