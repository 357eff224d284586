import { spawnSync } from "node:child_process";

const isThere = (program: string) => spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0;

/** Whether this machine can build the emulator's kernels. */
export const canEmulate =
  process.platform === "linux" && process.arch === "x64" && isThere("nvcc") && isThere(process.env.CXX ?? "g++");
