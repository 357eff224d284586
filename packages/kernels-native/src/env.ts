import { VdError } from "./errors";

/** Most workers that the addon takes. */
const MAX_THREADS = 1024;

/** Environment variables that the packages read, in one place; docs/environment.md lists them. */
export const environment = {
  /** `VD_THREADS`: CPU workers; default: the number of available cores. Throws VdError `attr`. */
  threads(): number | undefined {
    const value = process.env.VD_THREADS;
    if (value === undefined || value === "") return undefined;
    const parsed = Number(value);
    if (Number.isInteger(parsed) && parsed >= 1 && parsed <= MAX_THREADS) return parsed;
    const expected = `a whole number from 1 to ${MAX_THREADS}`;
    throw new VdError({ code: "attr", where: "VD_THREADS", expected, got: JSON.stringify(value) });
  },
  /** `VD_CPU_ISA`: best, amx, avx512, avx2 or plain; for tests and bug reports. */
  cpuIsa(): string | undefined {
    return process.env.VD_CPU_ISA;
  },
  /** `VD_CUDA_IMAGE`: device code to run instead of the best, e.g. compute_75; for tests. */
  cudaImage(): string | undefined {
    return process.env.VD_CUDA_IMAGE;
  },
};
