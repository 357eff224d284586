import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism, cpus, platform, release, totalmem } from "node:os";
import { devices, listGpus } from "@vd/kernels-native";

/** Where and with what results were made. */
export interface MachineInfo {
  /** Name of the device that ran: the CPU's model or the GPU's name. */
  device: string;
  kind: "cpu" | "cuda";
  /** Instruction set, or compute capability. */
  capability: string;
  driver: string;
  deviceBytes: number;
  cpu: string;
  cores: number;
  hostBytes: number;
  os: string;
  node: string;
  commit: string;
}

/** The commit of this build, and the hash of its kernel sources where that is known: from the file beside a packed program, else from git. */
export function buildCommit(packed = new URL("../about.json", import.meta.url)): string {
  if (existsSync(packed)) {
    const { commit: known, kernelHash } = JSON.parse(readFileSync(packed, "utf8")) as Record<string, string>;
    if (known !== undefined) return kernelHash === undefined ? known : `${known}, kernels ${kernelHash}`;
  }
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: new URL(".", import.meta.url), encoding: "utf8", stdio: "pipe" }).trim();
  try {
    return git("rev-parse", "HEAD") + (git("status", "--porcelain") === "" ? "" : " with changes");
  } catch {
    return "unknown";
  }
}

/** What this machine is, as seen by a run on one of its devices. index: among those of its kind; default the first that can be used. */
export function machineInfo(kind: MachineInfo["kind"], index?: number): MachineInfo {
  const cpu = cpus()[0]?.model.trim() ?? "unknown";
  const ofKind = devices().filter((device) => device.kind === kind);
  const found = index === undefined ? ofKind.find(({ usable }) => usable) : ofKind[index];
  const common = {
    kind,
    cpu,
    cores: availableParallelism(),
    hostBytes: totalmem(),
    os: `${platform()} ${release()}`,
    node: process.version,
    commit: buildCommit(),
  };
  if (kind === "cpu") {
    const capability = / (\w+) kernels/.exec(found?.reason ?? "")?.[1] ?? "plain";
    return { device: cpu, capability, driver: "", deviceBytes: totalmem(), ...common };
  }
  return {
    device: found?.name ?? "none",
    capability: found?.computeCapability ?? "",
    driver: listGpus().driverVersion,
    deviceBytes: found?.memoryBytes ?? 0,
    ...common,
  };
}
