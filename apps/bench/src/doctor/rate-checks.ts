import { availableParallelism, cpus } from "node:os";
import { machineInfo } from "@vd/app-parts";
import { type Device, isVdError, openDevice } from "@vd/kernels-native";
import type { Check } from "./check";
import { type Expectation, type ExpectedRates, expectedOfCpu, expectedOfGpu } from "./expected";
import { inGibibytes, reason } from "./format";
import { measureMemcpyGbPerS, measureRates, type Rates } from "./rates";

/** A CPU's clock in MHz: as the system tells it, else as its name does ("… @ 2.50GHz"), else 0. */
export function clockMhzOf({ model, speed }: { model: string; speed: number }): number {
  if (speed > 0) return speed;
  const inName = /@ ([\d.]+) ?GHz/.exec(model)?.[1];
  return inName === undefined ? 0 : Math.round(1000 * Number(inName));
}

/** What to do where a device is slow. */
const SLOW_ADVICE = {
  cpu: "Close other programs and look for a power limit; in a virtual machine other guests may take the time. Then try again.",
  cuda: "Close other programs on the GPU and look at its clocks, power limit and temperature (nvidia-smi -q). Then try again.",
} as const;

function rateCheck(name: string, value: number, text: string, { atLeast, why }: Expectation, advice: string): Check {
  if (!(Number.isFinite(value) && value > 0))
    return {
      name,
      verdict: "failed",
      found: `no rate (${value})`,
      advice: "Please report this with the whole output.",
    };
  if (value >= atLeast) return { name, verdict: "ok", found: text };
  return {
    name,
    verdict: "slow",
    found: text,
    advice: `Expected ${atLeast.toPrecision(3)} or more: ${why}. ${advice}`,
  };
}

/** Judges measured rates by what is expected. */
export function judgeRates(kind: "cpu" | "cuda", rates: Rates, expected: ExpectedRates): Check[] {
  const name = kind === "cpu" ? "CPU" : "GPU";
  const { copyGbPerS, matrixTflopPerS } = rates;
  const type = kind === "cpu" ? "float32" : "float16";
  const copied = `${copyGbPerS.toFixed(1)} GB/s read and written by y = a beyond all caches`;
  const multiplied = `${matrixTflopPerS.toFixed(3)} TFLOP/s in ${type}`;
  const advice = SLOW_ADVICE[kind];
  return [
    rateCheck(`${name} copy`, copyGbPerS, copied, expected.copy, advice),
    rateCheck(`${name} matrix product`, matrixTflopPerS, multiplied, expected.matrix, advice),
  ];
}

/** What SVD-XT takes with low memory settings. */
const SVD_BYTES = 8 * 2 ** 30;

/** Judges what is free on a GPU. */
export function gpuMemoryCheck(freeBytes: number, totalBytes: number): Check {
  const found = `${inGibibytes(freeBytes)} free of ${inGibibytes(totalBytes)}`;
  if (freeBytes >= SVD_BYTES) return { name: "GPU memory", verdict: "ok", found };
  const advice = "Close other programs on the GPU, or use fewer frames and small sizes.";
  return { name: "GPU memory", verdict: "note", found, advice };
}

/** How rates are measured; tests give their own. */
export interface RateTools {
  open(kind: "cpu" | "cuda", options: { threads?: number | undefined }): Device;
  measure(device: Device): Promise<Rates>;
  /** Of one thread, bytes read and written. */
  memcpyGbPerS(): number;
}

const REAL_TOOLS: RateTools = { open: openDevice, measure: measureRates, memcpyGbPerS: measureMemcpyGbPerS };

/** Measures a device and judges its free memory, its copy and its matrix rate. threads: of the CPU, default all. */
export async function rateChecks(
  kind: "cpu" | "cuda",
  threads?: number,
  tools: RateTools = REAL_TOOLS,
): Promise<Check[]> {
  try {
    const device = tools.open(kind, { threads });
    await device.prepare();
    const { freeBytes, totalBytes } = await device.memory();
    const rates = await tools.measure(device);
    const { device: name, capability: isa } = machineInfo(kind);
    if (kind === "cuda")
      return [gpuMemoryCheck(freeBytes, totalBytes), ...judgeRates(kind, rates, expectedOfGpu(name, rates.copyGbPerS))];
    const clockMhz = clockMhzOf(cpus()[0] ?? { model: "", speed: 0 });
    const facts = { isa, threads: threads ?? availableParallelism(), clockMhz };
    return judgeRates(kind, rates, expectedOfCpu({ ...facts, memcpyGbPerS: tools.memcpyGbPerS() }));
  } catch (error) {
    const advice = (isVdError(error) ? error.hint : undefined) ?? "Please report this with the whole output.";
    return [{ name: kind === "cpu" ? "CPU" : "GPU", verdict: "failed", found: reason(error), advice }];
  }
}
