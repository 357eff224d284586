import { basename, dirname } from "node:path";
import { VdError } from "./errors";

/** Most workers that the addon takes. */
export const MAX_THREADS = 1024;

/** Environment variables that the packages read, in one place; docs/environment.md lists them. */
export const environment = {
  /**
   * `VD_THREADS`: CPU workers; default: the number of available cores.
   *
   * @throws VdError `attr`
   */
  threads(): number | undefined {
    const value = process.env.VD_THREADS;
    if (value === undefined || value === "") return undefined;
    const parsed = Number(value);
    if (Number.isInteger(parsed) && parsed >= 1 && parsed <= MAX_THREADS) return parsed;
    const expected = `a whole number from 1 to ${MAX_THREADS}`;
    throw new VdError({ code: "attr", where: "VD_THREADS", expected, got: JSON.stringify(value) });
  },
  /** `VD_CPU_ISA`: best, amx, avx512, avx2 or plain, on 64-bit Arm neon; for tests and bug reports. */
  cpuIsa(): string | undefined {
    return process.env.VD_CPU_ISA;
  },
  /** `VD_ADDON`: path of an addon to load instead of the package's own; for builds with sanitizers. */
  addon(): string | undefined {
    return process.env.VD_ADDON || undefined;
  },
  /** `VD_SANITIZED`: 1 where the addon was built with sanitizers, which watch the ends of buffers; for conformance tests. */
  sanitized(): boolean {
    return process.env.VD_SANITIZED === "1";
  },
  /** `VD_VERIFY`: 1 compares the addon and the device code with the package's manifest before loading them. */
  verify(): boolean {
    return process.env.VD_VERIFY === "1";
  },
  /** `VD_CUDA_IMAGE`: device code to run instead of the best, e.g. compute_75, or DIR/compute_75 for that of another folder than that of
   *  `@vd/kernels-cuda`; for tests. */
  cudaImage(): string | undefined {
    return process.env.VD_CUDA_IMAGE && basename(process.env.VD_CUDA_IMAGE);
  },
  /** The folder that `VD_CUDA_IMAGE` names, where it names one. */
  cudaImageDir(): string | undefined {
    const dir = dirname(process.env.VD_CUDA_IMAGE ?? "");
    return dir === "." ? undefined : dir;
  },
  /** `CUDA_PATH`: folder of the CUDA toolkit, whose CUPTI times kernels; empty if it is not set. */
  cudaPath(): string {
    return process.env.CUDA_PATH ?? "";
  },
  /** `NVTX_INJECTION64_PATH`: the library of a profiling tool of NVIDIA's; Nsight Systems sets it for what it starts. */
  nvtxInjection(): string | undefined {
    return process.env.NVTX_INJECTION64_PATH;
  },
  /** Where installed tools may lie: `TENSORRT_HOME`, `PATH`, `LD_LIBRARY_PATH`, and the Python environment of
   *  `VIRTUAL_ENV` or `CONDA_PREFIX`. Unset ones are empty. */
  toolFolders(): { tensorRtHome: string; path: string; libraryPath: string; pythonPrefix: string } {
    const { TENSORRT_HOME, PATH, LD_LIBRARY_PATH, VIRTUAL_ENV, CONDA_PREFIX } = process.env;
    return {
      tensorRtHome: TENSORRT_HOME ?? "",
      path: PATH ?? "",
      libraryPath: LD_LIBRARY_PATH ?? "",
      pythonPrefix: VIRTUAL_ENV ?? CONDA_PREFIX ?? "",
    };
  },
};
