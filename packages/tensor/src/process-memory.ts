import { readFileSync } from "node:fs";

const KIB = 1024;

/**
 * Returns the most memory that this process has had in use at a time, in bytes. Linux counts a parent's memory as that of the processes
 * it starts in what `process.resourceUsage` says (`ru_maxrss` outlives `execve`), so that `/proc` is asked there.
 *
 * Source: https://man7.org/linux/man-pages/man5/proc_pid_status.5.html, `VmHWM`.
 *
 * @example
 * ```ts
 * import { peakProcessBytes } from "@vd/tensor";
 *
 * console.log(`${Math.round(peakProcessBytes() / 2 ** 20)} MiB at most`);
 * ```
 */
export function peakProcessBytes(): number {
  try {
    const found = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"));
    if (found) return Number(found[1]) * KIB;
  } catch {
    // Not Linux, or a sandbox without /proc.
  }
  return process.resourceUsage().maxRSS * KIB;
}
