import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDevice } from "@vd/kernels-native";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundledProgram } from "../../../../tooling/testing/program";
import { layoutGraph } from "../../src/plan/layout";
import { chooseVariants, tunedVariants, tuningTableFor } from "../../src/tune/choose";
import { rowKey } from "../../src/tune/row-key";
import { tunePlan } from "../../src/tune/tune-plan";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const compiler = process.env.CXX ?? "g++";
const hasCompiler = process.platform === "linux" && spawnSync(compiler, ["--version"]).status === 0;
const GUESS = "linear_mma_f16_m128n128";
const FASTEST = "linear_mma_f16_m64n64";

describe.skipIf(!hasCompiler)("tuning over a stand-in for the driver (needs Linux and a C++ compiler)", () => {
  const folder = mkdtempSync(join(tmpdir(), "vd-tune-"));
  // biome-ignore lint/suspicious/noExplicitAny: the scenario prints data of its own
  let result: any;

  beforeAll(async () => {
    const [driver, images] = [join(folder, "driver"), join(folder, "images")];
    for (const path of [driver, images]) mkdirSync(path);
    const source = here("../../../kernels-native/test/driver/stand-in.c");
    const flags = ["-x", "c++", "-w", "-shared", "-fPIC", "-o", join(driver, "libcuda.so.1"), source];
    const built = spawnSync(compiler, flags, { encoding: "utf8" });
    if (built.status !== 0) throw new Error(built.stderr);
    const program = await bundledProgram(here("support/stand-in-scenario.ts"));
    const ran = spawnSync(process.execPath, [program, images], {
      encoding: "utf8",
      env: {
        ...process.env,
        STAND_IN_MAJOR: "8",
        LD_LIBRARY_PATH: driver,
      },
    });
    if (ran.status !== 0) throw new Error(`ended with ${ran.status ?? ran.signal}: ${ran.stderr}`);
    result = JSON.parse(ran.stdout);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("measures one row of each key, each variant in turn, the first once more, none that would change bits", () => {
    expect(Object.values(result.entries)).toEqual([{ variant: FASTEST, timesUs: { [GUESS]: 300, [FASTEST]: 200 } }]);
    expect(result.passes).toEqual([1, 1, 1]);
    expect(result.numFilled).toBe(3);
  });

  test("plans take the table's variants, the device's own without one", () => {
    expect(result.plain).toEqual([GUESS, GUESS, "copy_vector"]);
    expect(result.tuned).toEqual([FASTEST, FASTEST, "copy_vector"]);
    expect(result.captured).toEqual(result.tuned);
    expect(result.off).toEqual(result.plain);
  });

  test("plans say which variants their rows cannot have, if they are asked", () => {
    expect(result.rejected).toContain("sm90_*");
    expect(result.rejected).toContain("linear_tf32x3_*");
    expect(result.unexplained).toEqual([]);
  });

  test("variants by name come before the table", () => {
    expect(result.byHand).toEqual(["linear_plain_f16", GUESS, "copy_vector"]);
  });

  test("a variant that this build does not have falls back to the device's own choice", () => {
    expect(result.stale).toEqual(result.plain);
  });

  test("what was faster than another choice than the device's own is not taken", () => {
    expect(result.otherGuess).toEqual(result.plain);
  });

  test("a table of another device is refused", () => {
    expect(result.otherDevice).toMatchObject({ code: "unsupported" });
    expect(result.otherDevice.message).toContain("[tuning] expected a table of Stand-in GPU 0, got one of NVIDIA H200");
  });

  test("rows that are known are not measured", () => {
    expect(result.known).toEqual({});
    expect(result.passesOfKnown).toEqual([]);
  });

  test("stops when it is cancelled", () => {
    expect(result.cancelled).toMatchObject({ code: "cancelled" });
  });
});

describe("the CPU", () => {
  const device = openDevice("cpu", { threads: 1 });
  const layout = layoutGraph((g) => g.output("y", g.copy({ x: g.input("x", [1, 1, 1, 8]) })));
  const table = { device: "NVIDIA H200", driverVersion: "", kernelHash: "", entries: {} };

  test("has nothing to choose from", async () => {
    expect(await tunePlan(device, layout)).toEqual({});
  });

  test("takes no notice of tables", async () => {
    expect(tuningTableFor(device, table)).toBeUndefined();
    expect(await tunedVariants(device, layout, undefined)).toBeUndefined();
  });
});

test("all rows of a long plan get what the table says", async () => {
  const layout = layoutGraph((g) => {
    let x = g.input("x", [1, 1, 1, 8]);
    for (let i = 0; i < 300; i++) x = i % 3 === 0 ? g.copy({ x }) : g.pointwise({ a: x });
    g.output("y", x);
  });
  const entries = { [rowKey(layout.graph.rows[0]!)]: { variant: "found", timesUs: { own: 2, found: 1 } } };
  const table = { device: "A GPU", driverVersion: "", kernelHash: "", entries };
  const rows = await tunedVariants({ kind: "cuda", name: "A GPU" }, layout, table);
  const textsOf = (text: string) => layout.graph.rows.map(({ op }) => (op === "copy" ? text : ""));
  expect(rows).toEqual({ variants: textsOf("found"), insteadOf: textsOf("own") });
  expect(rows).toEqual(chooseVariants(layout, table));
  // Looked up once for a table.
  const again = (entries: typeof table.entries) =>
    tunedVariants({ kind: "cuda", name: "A GPU" }, layout, { ...table, entries });
  expect(await again(entries)).toBe(rows);
  expect(await again({ ...entries })).not.toBe(rows);
});
