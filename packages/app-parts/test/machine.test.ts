import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../tooling/testing/temporary-folder";
import { buildCommit, machineInfo } from "../src/machine";

it("names the machine and what it runs", () => {
  const { device, kind, capability, cores, node, commit } = machineInfo("cpu");
  expect({ device, kind, node }).toEqual({ device: cpus()[0]!.model.trim(), kind: "cpu", node: process.version });
  expect([capability.length, cores].every((each) => each > 0)).toBe(true);
  expect(commit).toMatch(/^([0-9a-f]{40}( with changes)?|unknown)$/);
});

it("names the device of a number, and none that is not there", () => {
  expect(machineInfo("cpu", 0)).toEqual(machineInfo("cpu"));
  expect(machineInfo("cuda", 99)).toMatchObject({ device: "none", kind: "cuda", deviceBytes: 0 });
});

it("tells what was packed: the commit, and the hash of the kernel sources behind it", () => {
  const path = join(temporaryFolder(), "about.json");
  const packed = (about: object) => {
    writeFileSync(path, JSON.stringify(about));
    return buildCommit(pathToFileURL(path));
  };
  expect(packed({ commit: "abc", kernelHash: "0123" })).toBe("abc, kernels 0123");
  expect(packed({ commit: "abc" })).toBe("abc");
});
