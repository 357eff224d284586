import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf, thrownBy } from "../../../../tooling/testing/failure";
import { smoothingExponents } from "../../src/precision/calibration/choose-smoothing";
import {
  type CalibrationTable,
  findCalibration,
  parseCalibration,
  readCalibration,
  saveCalibration,
} from "../../src/precision/calibration/table";
import { temporaryFolder } from "../support/tiny-model";

const MODEL = "a".repeat(64);
const TABLE: CalibrationTable = {
  model: MODEL,
  loras: [{ weight: 0.5, sha256: "b".repeat(64) }],
  generations: { pictures: 1, steps: 2, numFrames: 3, width: 32, height: 32 },
  layers: new Map([
    [
      "a.b",
      { i8: { largest: 1.5, error: 1e-4, exponents: Int8Array.of(-3, 0, 5) }, f8e4m3: { largest: 2, error: 2e-3 } },
    ],
  ]),
};

describe("a calibration table", () => {
  it("is read as it was saved, and found beside its model", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "calibration.json");
    expect(await findCalibration(folder, MODEL, undefined)).toBeUndefined();
    await saveCalibration(path, TABLE);
    expect(await readCalibration(path)).toEqual(TABLE);
    expect(await findCalibration(folder, MODEL, undefined)).toEqual(TABLE);
    expect(await findCalibration(folder, MODEL, "none")).toBeUndefined();
    expect((await failureOf(findCalibration(folder, "c".repeat(64), undefined))).message).toContain("another model");
    expect((await failureOf(findCalibration(folder, MODEL, join(folder, "no.json")))).code).toBe("io");
  });

  it("is refused in a sentence where it is broken", async () => {
    const path = join(temporaryFolder(), "table.json");
    await saveCalibration(path, TABLE);
    const good = JSON.parse(JSON.stringify({ format: "vd-calibration", version: 1, ...TABLE, layers: {} })) as object;
    const broken: [object | string, string][] = [
      ["{", "no JSON"],
      [[], "another file"],
      [{ ...good, format: "x" }, "another file"],
      [{ ...good, version: 2 }, "version 2"],
      [{ ...good, model: 3 }, "the model that it is of"],
      [{ ...good, layers: [1] }, "layers by their names"],
      [{ ...good, layers: { a: { i8: { largest: -1, error: 0 } } } }, "a largest magnitude"],
      [{ ...good, layers: { a: { i8: { largest: 1, error: 0, exponents: [0.5] } } } }, "a list of exponents"],
    ];
    for (const [json, part] of broken) {
      const text = typeof json === "string" ? json : JSON.stringify(json);
      const { code, message } = thrownBy(() => parseCalibration("t", text));
      expect([code, message]).toEqual(["weights", expect.stringContaining(part)]);
    }
  });

  it("divides the channels that are large, by powers of two around one", () => {
    const activations = Float32Array.of(1, 1, 64, 1, 1);
    const weights = new Float32Array(5).fill(1);
    expect([...smoothingExponents(activations, weights, 0.5)]).toEqual([0, 0, 3, 0, 0]);
    expect([...smoothingExponents(activations, weights, 0.75)]).toEqual([0, 0, 5, 0, 0]);
  });
});
