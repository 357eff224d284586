import { availableParallelism } from "node:os";
import { COUNT, requireArgument, TEXT } from "@vd/kernels-native";

/** Threads that Node.js decodes pictures on. Source: https://nodejs.org/api/cli.html#uv_threadpool_sizesize. */
const POOL_THREADS = 4;

/**
 * Returns how many pictures to decode at a time: more than Node.js has threads for wait for each other. A core is left for
 * this thread, on Windows half of them, where virus scanners look at every file that is opened.
 *
 * @param platform as `process.platform`
 * @param numCores default: those that this process may use
 * @throws VdError `attr` for a platform that is no text, or a number of cores that is none
 * @example
 * ```ts
 * import { optimalNumWorkers } from "@vd/vae-opt";
 *
 * console.log(optimalNumWorkers(), optimalNumWorkers("win32", 4)); // …, 2
 * ```
 */
export function optimalNumWorkers(
  platform: NodeJS.Platform = process.platform,
  numCores: number = availableParallelism(),
): number {
  requireArgument("optimalNumWorkers] [platform", platform, TEXT);
  requireArgument("optimalNumWorkers] [numCores", numCores, COUNT);
  const free = platform === "win32" ? Math.floor(numCores / 2) : numCores - 1;
  return Math.max(1, Math.min(POOL_THREADS, free));
}
