import { spawnSync } from "node:child_process";
import { arch, availableParallelism, cpus, freemem, platform, release, totalmem } from "node:os";
import { devices, isVdError, listGpus, startDriver } from "@vd/kernels-native";
import { makeModels, openModelFolder } from "@vd/svd-pipeline";
import type { Check } from "./check";
import { inGibibytes, reason } from "./format";

/** The oldest Node.js that the packages run on. */
const OLDEST_NODE = [20, 19] as const;

/** Node.js itself. */
export function nodeCheck(version = process.versions.node): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);
  if (!isOld) return { name: "Node.js", verdict: "ok", found: version };
  return { name: "Node.js", verdict: "failed", found: version, advice: `Install ${OLDEST_NODE.join(".")} or newer.` };
}

/** Operating system and processor type: those that there are builds for. */
export function systemCheck(system: string = platform(), processor: string = arch()): Check {
  const found = `${system} ${release()}, ${processor}`;
  const isKnown = (system === "linux" || system === "win32") && processor === "x64";
  if (isKnown) return { name: "system", verdict: "ok", found };
  return { name: "system", verdict: "failed", found, advice: "Use Linux or Windows on x64, or build the addon here." };
}

/** Instruction set of the CPU kernels. */
export function cpuCheck(reasonText = devices()[0]!.reason): Check {
  const isa = / (\w+) kernels/.exec(reasonText)?.[1] ?? "plain";
  const found = `${cpus()[0]?.model.trim() ?? "unknown"}, ${availableParallelism()} cores, ${isa} kernels`;
  if (isa !== "plain") return { name: "CPU", verdict: "ok", found };
  return { name: "CPU", verdict: "note", found, advice: "Without AVX2 the CPU is many times slower: use a GPU." };
}

/** What a small video on the CPU takes with room to spare. */
const LITTLE_MEMORY = 4 * 2 ** 30;

/** Main memory. */
export function memoryCheck(freeBytes = freemem(), totalBytes = totalmem()): Check {
  const found = `${inGibibytes(freeBytes)} free of ${inGibibytes(totalBytes)}`;
  if (freeBytes >= LITTLE_MEMORY) return { name: "memory", verdict: "ok", found };
  return {
    name: "memory",
    verdict: "note",
    found,
    advice: "Close other programs, or use fewer frames and small sizes.",
  };
}

/** The driver, every GPU, and the device code that each would run. */
export async function gpuChecks(): Promise<Check[]> {
  await startDriver().catch(() => false);
  const { reason: why, driverVersion, devices: gpus } = listGpus();
  if (gpus.length === 0) {
    const advice = "Nothing to do if there is no NVIDIA GPU: the CPU serves. Otherwise install its driver.";
    return [{ name: "GPU", verdict: "note", found: why, advice }];
  }
  return gpus.map(({ index, name, computeCapability, memoryBytes, usable, image, reason: text }): Check => {
    const what = `${name}, compute capability ${computeCapability}, ${inGibibytes(memoryBytes)}, driver ${driverVersion}`;
    if (usable) return { name: `GPU ${index}`, verdict: "ok", found: `${what}, kernels ${image}` };
    return { name: `GPU ${index}`, verdict: "failed", found: `${what}: ${text}`, advice: "Update the driver." };
  });
}

/** A model folder: all files, configurations and weights fit together. */
export async function modelCheck(dir: string): Promise<Check> {
  try {
    const components = await openModelFolder(dir);
    const { unet } = makeModels(components);
    const found = `${dir}: ${unet.config.numFrames} frames, all weights are there`;
    return { name: "model", verdict: "ok", found };
  } catch (error) {
    const hint = isVdError(error) ? error.hint : undefined;
    const advice = hint ?? "Name a folder with --model, or make one with vd-bench make-model.";
    return { name: "model", verdict: "failed", found: reason(error), advice };
  }
}

/** Whether there is a PyTorch to compare with. */
export function peerCheck(python: string): Check {
  const script = "import torch; print(torch.__version__, torch.cuda.is_available())";
  const { status, stdout, error } = spawnSync(python, ["-c", script], { encoding: "utf8", timeout: 60_000 });
  if (status === 0) return { name: "PyTorch", verdict: "ok", found: stdout.trim().replace(" ", ", sees a GPU: ") };
  const found = error ? error.message : `${python} has none`;
  return { name: "PyTorch", verdict: "note", found, advice: "Only needed for comparisons: name one with --python." };
}
