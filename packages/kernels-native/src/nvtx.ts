import { environment } from "./env";
import { callNative } from "./errors";
import { loadAddon } from "./load";

let reason: string | undefined;

/** Ranges for NVIDIA's tools, such as Nsight Systems, which name their library in NVTX_INJECTION64_PATH. While one
 *  listens, the rows of every run are ranges as well. */
export const nvtx = {
  /** Why no tool listens, as a sentence; empty if one does. */
  reason(): string {
    const path = environment.nvtxInjection();
    if (!path) return "NVTX_INJECTION64_PATH names no tool's library.";
    reason ??= callNative(() => loadAddon().startNvtx(path));
    return reason;
  },
  /** True if a tool has attached itself. */
  listens(): boolean {
    return nvtx.reason() === "";
  },
  /** Opens a range, which any thread may end; ranges may overlap. Returns what {@link end} takes. */
  start(name: string): bigint {
    return callNative(() => loadAddon().startNvtxRange(name));
  },
  end(id: bigint): void {
    callNative(() => loadAddon().endNvtxRange(id));
  },
};
