import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { BenchFile } from "../../src/measure/report";
import { SELF } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const STAND_IN_PEER = here("../support/stand_in_peer.py");
const NATIVE = here("../../../../packages/kernels-native");
const compiler = process.env.CXX ?? "g++";
const canRun =
  process.platform === "linux" &&
  spawnSync(compiler, ["--version"]).status === 0 &&
  existsSync(join(NATIVE, "../kernels-cuda/images/sm_90a.fatbin"));

/** Runs `ops` over a stand-in for the driver, whose kernels do nothing. */
function overStandIn(pattern: string, more: readonly string[]) {
  const folder = temporaryFolder();
  const driver = ["-w", "-shared", "-fPIC", "-o", join(folder, "libcuda.so.1"), join(NATIVE, "test/driver/stand-in.c")];
  expect(spawnSync(compiler, ["-x", "c++", ...driver], { encoding: "utf8" }).stderr).toBe("");
  const options = ["--device", "cuda", "--rounds", "2", "--repeats", "2", "--peer-script", STAND_IN_PEER];
  const result = spawnSync(SELF.program, [...SELF.args, "ops", pattern, ...options, ...more], {
    encoding: "utf8",
    env: {
      ...process.env,
      LD_LIBRARY_PATH: folder,
      STAND_IN_MEBIBYTES: "1000",
    },
  });
  expect(result.status, result.stderr).toBe(0);
  return result;
}

/** Times ops over the stand-in. */
function ops(pattern: string) {
  const json = join(temporaryFolder(), "out.json");
  const result = overStandIn(pattern, ["--json", json]);
  const { rows } = JSON.parse(readFileSync(json, "utf8")) as BenchFile;
  return { rows, stdout: result.stdout };
}

it.skipIf(!canRun)("on a GPU ours and the peer's op run launched and as graphs (needs g++ and device code)", () => {
  const { rows } = ops("copy.tiny");
  expect(rows.map(({ contender }) => contender)).toEqual(["ours", "ours-graph", "pytorch", "pytorch-graph"]);
  for (const row of rows) expect(row.samplesUs).toHaveLength(4);
  // Our launches are counted in the plan; the peer's only where that is of interest.
  expect(rows.map(({ launches }) => launches)).toEqual([1, 1, undefined, undefined]);
});

it.skipIf(!canRun)("--why tells which kernel runs and why no other does (needs g++ and device code)", () => {
  const { stdout } = overStandIn("copy.tiny", ["--why"]);
  expect(stdout).toMatch(/^copy\.tiny\S*\n {2}runs {7}copy_\w+\n {2}left out {3}copy_\w+: /m);
  expect(stdout).not.toContain("ms");
});

it.skipIf(!canRun)("the peer's launches of the origin's shapes are counted; what has no kernel says which", () => {
  const { rows, stdout } = ops("attention.origin.2x8x64x64");
  expect(rows.filter(({ medianUs }) => medianUs).map(({ contender, launches }) => [contender, launches])).toEqual([
    ["pytorch", 7],
    ["pytorch-graph", 7],
  ]);
  expect(rows.find(({ contender }) => contender === "ours")!.reason).toMatch(
    /expected a kernel attention_\w+ in sm_90a/,
  );
  expect(stdout).toMatch(/launches/);
});
