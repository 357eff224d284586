import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { bundledProgram } from "../../../tooling/testing/program";
import { allocateBuffer } from "../src/index";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const compiler = process.env.CXX ?? "g++";
const hasCompiler = process.platform === "linux" && spawnSync(compiler, ["--version"]).status === 0;

test.skipIf(!hasCompiler)(
  "copies to a device beside each other arrive whole (needs Linux and a C++ compiler)",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "vd-transfer-"));
    try {
      const [driver, images] = [join(folder, "driver"), join(folder, "images")];
      for (const path of [driver, images]) mkdirSync(path);
      const flags = [
        "-x",
        "c++",
        "-w",
        "-shared",
        "-fPIC",
        "-o",
        join(driver, "libcuda.so.1"),
        here("driver/stand-in.c"),
      ];
      const built = spawnSync(compiler, flags, { encoding: "utf8" });
      expect(built.status, built.stderr).toBe(0);
      const env = { ...process.env, STAND_IN_MAJOR: "8", STAND_IN_MEBIBYTES: "256", LD_LIBRARY_PATH: driver };
      const program = await bundledProgram(here("driver/transfer-scenario.ts"));
      const ran = spawnSync(process.execPath, [program, images], { encoding: "utf8", env });
      expect(ran.status, ran.stderr).toBe(0);
      expect(JSON.parse(ran.stdout)).toEqual({
        ...{ same: [true, true, true], numbers: [true, true], freeBytes: 256 * 2 ** 20 },
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test("memory on the host takes and brings bytes off the event loop too", async () => {
  const [a, b] = [allocateBuffer(64), allocateBuffer(64)];
  const bytes = Uint8Array.from({ length: 64 }, (_, i) => i);
  await a.write(bytes);
  await b.copyFrom(a, 8, 0, 56);
  expect(b.readSync(new Uint8Array(64))).toEqual(Uint8Array.of(...bytes.slice(8), 0, 0, 0, 0, 0, 0, 0, 0));
  await expect(a.write(bytes, 1)).rejects.toMatchObject({ code: "layout" });
  await expect(b.copyFrom(a, 60, 0, 8)).rejects.toMatchObject({ code: "layout" });
});
