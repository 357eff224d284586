import { execFile } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { environment, listOf, OBJECT, optional, requireFields, TEXT, VdError } from "@vd/kernels-native";

/** An installed TensorRT: its builder, and its version as [major, minor, patch]. */
export interface TensorRt {
  readonly trtexec: string;
  readonly version: readonly [number, number, number];
  /** libnvinfer beside it, where it was found; trtexec finds its own. */
  readonly library: string | undefined;
}

/** Where to look. Defaults: the environment and the usual folders of packages. */
export interface SearchOptions {
  readonly folders?: ReturnType<typeof environment.toolFolders> | undefined;
  /** Folders of the system's packages. */
  readonly systemFolders?: readonly string[] | undefined;
  /** Where Python keeps packages besides its active environment. */
  readonly pythonPrefixes?: readonly string[] | undefined;
}

const SEARCH = {
  folders: optional(OBJECT),
  ...{ systemFolders: optional(listOf(TEXT)), pythonPrefixes: optional(listOf(TEXT)) },
};

/** Where Debian packages and containers put TensorRT's programs, then its libraries. */
const SYSTEM_FOLDERS = [
  "/usr/src/tensorrt/bin",
  "/usr/local/tensorrt/bin",
  "/opt/tensorrt/bin",
  "/usr/lib/x86_64-linux-gnu",
];
const PROGRAMS = ["trtexec", "trtexec.exe"];
const LIBRARY = /^(?:libnvinfer\.so(?:\.\d+)*|nvinfer(?:_\d+)?\.dll)$/;

const isFile = (path: string) => existsSync(path) && statSync(path).isFile();

/** pip's folders with NVIDIA's packages: PREFIX/lib/pythonX/{site,dist}-packages/{tensorrt_libs,tensorrt,nvidia/…}. */
function pipFolders(prefix: string): string[] {
  const lib = join(prefix, "lib");
  const pythons = existsSync(lib) ? readdirSync(lib).filter((name) => name.startsWith("python")) : [];
  const sites = pythons.flatMap((name) => ["site-packages", "dist-packages"].map((site) => join(lib, name, site)));
  const windows = join(prefix, "Lib", "site-packages");
  const packages = ["tensorrt_libs", "tensorrt", join("nvidia", "tensorrt")];
  const places = packages.flatMap((name) => [name, join(name, "bin"), join(name, "lib")]);
  const found = [...sites, windows].flatMap((site) => places.map((place) => join(site, place)));
  return [...found.filter((folder) => existsSync(folder)), join(prefix, "bin")];
}

/** All folders that are searched, in order. */
export function searchFolders(options: SearchOptions = {}): string[] {
  requireFields("searchFolders", options, SEARCH);
  const {
    folders = environment.toolFolders(),
    systemFolders = SYSTEM_FOLDERS,
    pythonPrefixes = [join(homedir(), ".local"), "/usr/local", "/usr"],
  } = options;
  const { tensorRtHome, path, libraryPath, pythonPrefix } = folders;
  const home = tensorRtHome === "" ? [] : [join(tensorRtHome, "bin"), join(tensorRtHome, "lib"), tensorRtHome];
  const prefixes = [pythonPrefix, ...pythonPrefixes].filter((prefix) => prefix !== "");
  const listed = [...path.split(delimiter), ...libraryPath.split(delimiter)].filter((folder) => folder !== "");
  return [...new Set([...home, ...listed, ...prefixes.flatMap(pipFolders), ...systemFolders])];
}

function findLibrary(folders: readonly string[]): string | undefined {
  for (const folder of folders) {
    const name =
      existsSync(folder) && statSync(folder).isDirectory() && readdirSync(folder).find((each) => LIBRARY.test(each));
    if (name) return join(folder, name);
  }
  return undefined;
}

/** The version in what trtexec prints: v8601 is 8.6.1, v101200 is 10.12.0. */
export function parseVersion(output: string): TensorRt["version"] | undefined {
  const digits = /TensorRT v(\d+)/.exec(output)?.[1];
  if (digits === undefined) return undefined;
  const number = Number(digits);
  if (number < 10_000) return [Math.floor(number / 1000), Math.floor(number / 100) % 10, number % 100];
  return [Math.floor(number / 10_000), Math.floor(number / 100) % 100, number % 100];
}

async function versionOf(trtexec: string): Promise<TensorRt["version"]> {
  const run = promisify(execFile);
  const output = await run(trtexec, ["--help"], { timeout: 60_000, maxBuffer: 2 ** 24 }).then(
    ({ stdout, stderr }) => stdout + stderr,
    (error: { stdout?: string; stderr?: string; message: string }) => `${error.stdout}${error.stderr}${error.message}`,
  );
  const version = parseVersion(output);
  if (version) return version;
  throw new VdError({
    code: "unsupported",
    where: trtexec,
    expected: "a trtexec that says its version (TensorRT v…)",
    got: JSON.stringify(output.slice(0, 200)),
    hint: "Its libraries may be missing: put the folder of libnvinfer into LD_LIBRARY_PATH.",
  });
}

/** The error of a machine without TensorRT: what was looked for, and where. */
function missing(folders: readonly string[], library: string | undefined): VdError {
  return new VdError({
    code: "unsupported",
    where: "tensorrt",
    expected: `trtexec in one of ${folders.length} folders: ${folders.join(", ")}`,
    got: library ? `libnvinfer alone (${library})` : "neither trtexec nor libnvinfer",
    hint: 'Install TensorRT and set TENSORRT_HOME or PATH, or use own kernels: tensorrt({ fallback: "cuda" }).',
  });
}

/**
 * Finds trtexec and its version.
 *
 * @throws VdError `unsupported` that lists what was looked for and where
 * @example
 * ```ts
 * import { findTensorRt } from "@vd/tensorrt";
 *
 * const { version } = await findTensorRt();
 * console.log(version.join("."));
 * ```
 */
export async function findTensorRt(options: SearchOptions = {}): Promise<TensorRt> {
  const folders = searchFolders(options);
  const library = findLibrary(folders);
  for (const folder of folders)
    for (const program of PROGRAMS) {
      const trtexec = join(folder, program);
      if (isFile(trtexec)) return { trtexec, version: await versionOf(trtexec), library };
    }
  throw missing(folders, library);
}
