import type { Device, DType } from "@vd/kernels-native";
import { compile } from "@vd/tensor";

/** What a device reaches here and now. */
export interface Rates {
  /** Bytes read plus written by the op pointwise as y = a. */
  copyGbPerS: number;
  matrixTflopPerS: number;
}

/** Sizes that take well under a second. */
const SIZES = {
  cpu: { copyBytes: 2 ** 27, side: 1024, runs: 7 },
  cuda: { copyBytes: 2 ** 31, side: 8192, runs: 5 },
} as const;

const F32_BYTES = 4;
/** Columns of the copied array; any number that fills vectors would do. */
const COLUMNS = 1024;

async function bestUs(device: Device, build: Parameters<typeof compile>[1], dtype: DType, runs: number) {
  const plan = await compile(device, build, { dtype });
  try {
    await plan.run();
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < runs; i++) best = Math.min(best, (await plan.run()).elapsedUs);
    return best;
  } finally {
    plan.freeSync();
  }
}

/** Copies an array that no cache holds and multiplies two square matrices; the best of a few runs. */
export async function measureRates(device: Device): Promise<Rates> {
  const { copyBytes, side, runs } = SIZES[device.kind];
  const dtype = device.kind === "cpu" ? "f32" : "f16";
  const rows = copyBytes / F32_BYTES / COLUMNS;
  const copyUs = await bestUs(
    device,
    (g) => g.output("y", g.pointwise({ a: g.input("a", [1, 1, rows, COLUMNS], "f32") })),
    "f32",
    runs,
  );
  const matrixUs = await bestUs(
    device,
    (g) => {
      const x = g.input("x", [1, 1, side, side]);
      // Not zeros: some processors are faster on those.
      const weight = g.constant(
        Float32Array.from({ length: side * side }, (_, i) => ((i % 13) - 6) / side),
        [side, side],
      );
      g.output("y", g.linear({ x, weight }));
    },
    dtype,
    runs,
  );
  return { copyGbPerS: (2 * copyBytes) / copyUs / 1e3, matrixTflopPerS: (2 * side ** 3) / matrixUs / 1e6 };
}

/** What the C library's memcpy reaches with one thread, bytes read and written: the best of a few runs. */
export function measureMemcpyGbPerS(): number {
  const { copyBytes, runs } = SIZES.cpu;
  const [from, to] = [Buffer.alloc(copyBytes, 1), Buffer.alloc(copyBytes)];
  let bestMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < runs; i++) {
    const startMs = performance.now();
    from.copy(to);
    bestMs = Math.min(bestMs, performance.now() - startMs);
  }
  return (2 * copyBytes) / bestMs / 1e6;
}

/** What devices of this process reached, by what tells them apart. */
const measured = new Map<string, Promise<Rates>>();

/** What a device reaches; one that was measured before, by any object of it, is not measured again. */
async function ratesOf(device: Device): Promise<Rates> {
  const key = JSON.stringify([device.kind, device.name, device.isa, device.threads]);
  const rates = measured.get(key) ?? measureRates(device);
  measured.set(key, rates);
  // It may be busy or short of memory only now.
  rates.catch(() => measured.delete(key));
  const found = await rates;
  await device.trim();
  return { ...found };
}

/** Adds the device's rates to results; if it cannot be measured, a note. */
export async function noteRates(file: { rates?: Rates; notes: string[] }, device: Device): Promise<void> {
  try {
    file.rates = await ratesOf(device);
  } catch (error) {
    file.notes.push(`No roofline: ${error instanceof Error ? error.message : String(error)}`);
  }
}
