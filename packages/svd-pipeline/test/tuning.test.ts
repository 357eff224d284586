import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeTuningTable } from "@vd/tensor";
import { afterAll, describe, expect, it } from "vitest";
import { failureOf } from "../../../tooling/testing/failure";
import { StableVideoDiffusionPipeline } from "../src/index";
import type { LoadOptions } from "../src/types";
import { TINY_SVD } from "./support/tiny-model";

const folder = mkdtempSync(join(tmpdir(), "vd-tuning-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const open = (tuning: unknown) =>
  StableVideoDiffusionPipeline.fromPretrained(TINY_SVD, { tuning } as unknown as LoadOptions);

describe("the tuning table of a pipeline", () => {
  it.each([
    ["an empty text", "", "attr"],
    ["true", true, "attr"],
    ["a table itself", { device: "CPU" }, "attr"],
    ["a file that is not there", join(folder, "absent.json"), "io"],
  ])("is not %s", async (_, tuning, code) => {
    expect((await failureOf(open(tuning))).code).toBe(code);
  });

  it("is not a file of another kind", async () => {
    const path = join(folder, "other.json");
    writeFileSync(path, '{"model_type": "svd"}');
    const { code, message } = await failureOf(open(path));
    expect(code).toBe("attr");
    expect(message).toContain("other.json");
  });

  it("is read where it lies; the CPU has nothing to choose", async () => {
    const path = join(folder, "table.json");
    writeTuningTable(path, { device: "NVIDIA H200", driverVersion: "", kernelHash: "", entries: {} });
    for (const tuning of [path, false, undefined]) (await open(tuning)).dispose();
  });
});
