import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../../build/workspace.mjs";
import { buildEmulator, emulatedOps } from "../../emulator/build.mjs";
import { canEmulate } from "./can-emulate";

/** Minutes of compiling, and as much again of running. */
const HAS_TIME = process.env.VD_LONG === "1";
/** Ops whose kernels the emulator runs; where there is time for them, all that have any. */
const OPS = HAS_TIME ? emulatedOps() : ["group_norm_stats", "layer_norm"];

describe.skipIf(!canEmulate)("kernels on the emulator (needs Linux on x64, nvcc and a C++ compiler)", () => {
  let gpu: Awaited<ReturnType<typeof buildEmulator>> | undefined;
  beforeAll(async () => {
    gpu = await buildEmulator(OPS);
  }, 600_000);
  afterAll(() => gpu?.remove());

  test.each(OPS)(
    "%s: every kernel that could run a case gives what the definition gives",
    (op) => {
      const program = join(ROOT, "tooling/gpu/programs/conformance.ts");
      const words = ["--import", "tsx", program, "--op", op, "--all", "--most", "100000"];
      // In an order of threads that no other run has by accident.
      const env = { ...process.env, ...gpu!.env, EMULATOR_SEED: "1" };
      const options = { cwd: ROOT, encoding: "utf8", env } as const;
      const { status, stdout, stderr } = spawnSync(process.execPath, words, options);
      expect(stderr).toBe("");
      expect(stdout).toMatch(/^suite: [1-9]\d* passed, 0 failed/m);
      expect(status).toBe(0);
    },
    600_000,
  );

  test.skipIf(!HAS_TIME)(
    "a whole denoiser in float16 is near its goldens (with VD_LONG=1)",
    () => {
      const words = ["--import", "tsx", join(ROOT, "tooling/goldens/main.ts"), "fixtures/unet"];
      const options = { cwd: ROOT, encoding: "utf8", env: { ...process.env, ...gpu!.env } } as const;
      const { status, stdout } = spawnSync(
        process.execPath,
        [...words, "--device", "cuda", "--dtype", "float16"],
        options,
      );
      expect(stdout).toMatch(/^[1-9]\d* passed, 0 failed, 0 not run/m);
      expect(status).toBe(0);
    },
    600_000,
  );
});
