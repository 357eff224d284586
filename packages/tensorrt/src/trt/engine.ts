import { createHash, randomBytes } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { devices, startDriver, VdError } from "@vd/kernels-native";
import { makeFolder, withCallbacks } from "@vd/tensor";
import { defaultCacheDir } from "../cache-dir";
import { type ModelInfo, readModel } from "../onnx/read-model";
import { type BuildRequest, buildArguments, type EnginePrecision, type Profile } from "./command";
import type { TensorRt } from "./find";
import { runProcess } from "./process";

/** The GPU that an engine is built for and runs on. */
export interface EngineGpu {
  readonly name: string;
  readonly computeCapability: string;
}

/** Everything that an engine depends on. */
export interface EngineFacts {
  /** Of the model file and its weights. */
  readonly onnxSha256: string;
  readonly precision: EnginePrecision;
  readonly profile: Profile | undefined;
  readonly calibration: string | undefined;
  readonly optimizationLevel: number | undefined;
  readonly gpu: EngineGpu;
  readonly tensorRt: string;
}

/** What lies beside an engine, so that one that does not fit is refused before it is loaded. */
interface Manifest {
  readonly facts: EngineFacts;
  readonly engineBytes: number;
  readonly engineSha256: string;
}

/** A built engine. */
export interface Engine {
  readonly path: string;
  readonly facts: EngineFacts;
  readonly engineBytes: number;
  /** True if it was built before. */
  readonly fromCache: boolean;
}

/** A moment of a build. */
export interface BuildProgress {
  readonly elapsedUs: number;
  /** What TensorRT says. */
  readonly message: string;
}

/** What to build, and where to keep it. */
export interface EngineOptions extends Omit<BuildRequest, "model"> {
  readonly tensorRt: TensorRt;
  /** Default: the first GPU. */
  readonly gpu?: EngineGpu | undefined;
  /** Default: ~/.cache/vd-tensorrt. */
  readonly cacheDir?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined;
}

/**
 * The GPU of this machine.
 *
 * @throws VdError `unsupported` where there is none
 */
export async function currentGpu(deviceId = 0): Promise<EngineGpu> {
  await startDriver().catch(() => false);
  const gpus = devices().filter(({ kind }) => kind === "cuda");
  const gpu = gpus[deviceId];
  if (gpu?.usable && gpu.computeCapability) return { name: gpu.name, computeCapability: gpu.computeCapability };
  const got = gpu?.reason ?? `only ${gpus.length} GPUs`;
  throw new VdError({ code: "unsupported", where: "tensorrt", expected: `a usable GPU ${deviceId}`, got });
}

async function hashFiles(paths: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const path of paths)
    for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 22 })) hash.update(chunk);
  return hash.digest("hex");
}

const hashText = (text: string) => createHash("sha256").update(text).digest("hex");

async function factsOf(model: ModelInfo, options: EngineOptions): Promise<EngineFacts> {
  const { precision, profile, optimizationLevel, tensorRt, deviceId } = options;
  return {
    onnxSha256: await hashFiles([model.path, ...model.dataPaths]),
    precision,
    profile,
    calibration: options.calibration === undefined ? undefined : await hashFiles([options.calibration]),
    optimizationLevel,
    gpu: options.gpu ?? (await currentGpu(deviceId)),
    tensorRt: tensorRt.version.join("."),
  };
}

/** Facts as text in one order, whatever order they were made in. */
const canonical = (facts: EngineFacts) =>
  JSON.stringify(facts, (_, value) =>
    typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );

const manifestPath = (enginePath: string) => `${enginePath}.json`;

async function readManifest(enginePath: string): Promise<Manifest> {
  const path = manifestPath(enginePath);
  try {
    const manifest = JSON.parse(await readFile(path, "utf8")) as Manifest;
    if (typeof manifest.facts?.onnxSha256 === "string" && typeof manifest.engineBytes === "number") return manifest;
    throw new Error("another JSON");
  } catch (cause) {
    const hint = "Build the engine again: without its description nobody knows what it fits.";
    const got = (cause as Error).message;
    throw new VdError({ code: "io", where: path, expected: "the description of an engine", got, hint, cause });
  }
}

function stale(path: string, what: string, expected: string, got: string): VdError {
  const hint = "An engine fits one model, one GPU and one version of TensorRT: build it again.";
  return new VdError({ code: "unsupported", where: path, expected: `an engine for ${what} ${expected}`, got, hint });
}

/**
 * Compares what an engine was built for with what is here.
 *
 * @throws VdError `unsupported` for an engine that was built for something else, naming what differs
 */
function checkFacts(path: string, built: EngineFacts, wanted: Partial<EngineFacts>): void {
  const shown = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  const gpu = ({ name, computeCapability }: EngineGpu) => `${name} (${computeCapability})`;
  if (wanted.gpu && canonical({ ...built, gpu: wanted.gpu }) !== canonical(built))
    throw stale(path, "the GPU", gpu(wanted.gpu), `one for ${gpu(built.gpu)}`);
  for (const key of ["tensorRt", "onnxSha256", "precision", "profile"] as const)
    if (wanted[key] !== undefined && canonical({ ...built, [key]: wanted[key] }) !== canonical(built))
      throw stale(path, key, shown(wanted[key]), `one for ${shown(built[key]) ?? "none"}`);
}

/**
 * Opens a built engine and checks that it is whole and fits.
 *
 * @throws VdError `io` for a missing or damaged one, `unsupported` for one of another GPU, version, model or precision
 */
export async function openEngine(path: string, wanted: Partial<EngineFacts>): Promise<Engine> {
  const { facts, engineBytes, engineSha256 } = await readManifest(path);
  const found = existsSync(path) ? (await stat(path)).size : undefined;
  checkFacts(path, facts, wanted);
  const isWhole = found === engineBytes && (await hashFiles([path])) === engineSha256;
  if (!isWhole) {
    const got = found === undefined ? "no such file" : found === engineBytes ? "other bytes" : `${found} bytes`;
    throw new VdError({
      code: "io",
      where: path,
      expected: `an engine of ${engineBytes} bytes`,
      got,
      hint: "Build it again.",
    });
  }
  return { path, facts, engineBytes, fromCache: true };
}

/** The engine of the cache, or undefined if there is none that is whole and fits. */
async function cached(path: string, facts: EngineFacts): Promise<Engine | undefined> {
  if (!existsSync(path) || !existsSync(manifestPath(path))) return undefined;
  return openEngine(path, facts).catch((error) => {
    if (error instanceof VdError) return undefined;
    throw error;
  });
}

const MESSAGE = /\[[IWE]\]\s*(?:\[TRT\]\s*)?(.+)$/;

async function build(model: ModelInfo, path: string, facts: EngineFacts, options: EngineOptions): Promise<Engine> {
  const { tensorRt, signal, onProgress } = options;
  const start = performance.now();
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  const timingCache = join(
    path,
    "..",
    `timing-${hashText(canonical(facts.gpu as never) + facts.tensorRt).slice(0, 16)}.cache`,
  );
  const args = buildArguments({ ...options, model }, tensorRt, temporary, timingCache);
  const stop = new AbortController();
  let failure: { error: unknown } | undefined;
  // Called by the process's stream, where nobody would catch what a callback throws.
  const report = (line: string) => {
    const message = MESSAGE.exec(line)?.[1];
    try {
      if (message) onProgress?.({ elapsedUs: (performance.now() - start) * 1000, message });
    } catch (error) {
      failure ??= { error };
      stop.abort();
    }
  };
  const anySignal = AbortSignal.any([stop.signal, ...(signal ? [signal] : [])]);
  try {
    await runProcess(tensorRt.trtexec, args, { signal: anySignal, onLine: report });
    if (!existsSync(temporary)) throw noEngine(tensorRt.trtexec, path);
    const engineBytes = (await stat(temporary)).size;
    const manifest: Manifest = { facts, engineBytes, engineSha256: await hashFiles([temporary]) };
    await writeFile(`${temporary}.json`, `${JSON.stringify(manifest, undefined, 2)}\n`);
    await rename(`${temporary}.json`, manifestPath(path));
    await rename(temporary, path);
    return { path, facts, engineBytes, fromCache: false };
  } catch (error) {
    await Promise.all([temporary, `${temporary}.json`].map((each) => rm(each, { force: true })));
    throw failure ? failure.error : error;
  }
}

function noEngine(trtexec: string, path: string): VdError {
  return new VdError({
    code: "unsupported",
    where: trtexec,
    expected: `an engine at ${path}`,
    got: "success without one",
  });
}

/**
 * An engine for a model: from the cache if one fits, else built by trtexec. The cache's key is everything that an
 * engine depends on, {@link EngineFacts}. Engines appear whole or not at all.
 *
 * @throws VdError `io`, `weights` or `unsupported` for the model, `attr` for what TensorRT's version cannot do,
 *   `unsupported` with TensorRT's complaint, `cancelled`
 */
export async function buildEngine(onnxPath: string, options: EngineOptions): Promise<Engine> {
  const model = await readModel(onnxPath);
  const facts = await factsOf(model, options);
  const dir = join(options.cacheDir ?? defaultCacheDir(), "engines");
  await makeFolder(dir);
  const path = join(dir, `${hashText(canonical(facts)).slice(0, 32)}.engine`);
  const found = await cached(path, facts);
  return (
    found ??
    withCallbacks(options, ["onProgress"], "building an engine", (watched) => build(model, path, facts, watched))
  );
}
