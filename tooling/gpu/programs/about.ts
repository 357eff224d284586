import { existsSync, readFileSync } from "node:fs";
import { type DeviceInfo, devices, listGpus } from "@vd/kernels-native";

/** What was packed: see tooling/gpu/pack. */
export interface PackInfo {
  commit: string;
  kernelHash: string;
}

/** Where and with what a measurement was made. */
export interface About extends PackInfo {
  device: string;
  driverVersion: string;
  devices: DeviceInfo[];
  node: string;
}

/** The packed commit and hash, from the file beside this program. */
function packInfo(): PackInfo {
  const path = new URL("../about.json", import.meta.url);
  if (!existsSync(path)) return { commit: "unknown", kernelHash: "unknown" };
  return JSON.parse(readFileSync(path, "utf8")) as PackInfo;
}

/** This machine and this build. */
export function about(): About {
  const all = devices();
  const device = all.find(({ kind, usable }) => kind === "cuda" && usable) ?? all[0]!;
  return {
    device: device.name,
    driverVersion: listGpus().driverVersion,
    devices: all,
    node: process.version,
    ...packInfo(),
  };
}
