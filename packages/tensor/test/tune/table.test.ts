import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { defaultTuningTable } from "../../src/tune/defaults";
import { checkTuningTable, readTuningTable, type TuningTable, writeTuningTable } from "../../src/tune/table";
import { failure } from "../support/failure";

const folder = mkdtempSync(join(tmpdir(), "vd-tune-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const table: TuningTable = {
  device: "NVIDIA H200",
  driverVersion: "580.1",
  kernelHash: "abc",
  entries: {
    "linear y": { variant: "a", timesUs: { b: 2, a: 1.5 } },
    "conv x": { variant: "b", timesUs: { b: 1 } },
  },
};

describe("a tuning table", () => {
  test("is read as it was written, its entries in order, the order of times kept", () => {
    const path = join(folder, "table.json");
    writeTuningTable(path, table);
    const again = readTuningTable(path);
    expect(again).toEqual(table);
    expect(Object.keys(again.entries)).toEqual(["conv x", "linear y"]);
    expect(Object.keys(again.entries["linear y"]!.timesUs)).toEqual(["b", "a"]);
  });

  test("is written whole or not at all", () => {
    const path = join(folder, "kept.json");
    writeTuningTable(path, table);
    const before = readFileSync(path, "utf8");
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    const broken = { ...table, entries: { x: { variant: "a", timesUs: loop as Record<string, number> } } };
    expect(() => writeTuningTable(path, broken)).toThrow();
    expect(readFileSync(path, "utf8")).toBe(before);
    expect(failure(() => writeTuningTable(join(folder, "none", "table.json"), table)).code).toBe("io");
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  test("that cannot be read is an io error, one that is no JSON says so", () => {
    expect(failure(() => readTuningTable(join(folder, "absent.json"))).code).toBe("io");
    const path = join(folder, "text.json");
    writeFileSync(path, "{ no json");
    const { code, message } = failure(() => readTuningTable(path));
    expect(code).toBe("attr");
    expect(message).toContain("expected a tuning table in JSON");
  });

  test.each<[string, unknown, string]>([
    ["a list", [], "[t] expected an object, got a list"],
    ["no device", { ...table, device: undefined }, "[t] [device] expected a text, got nothing"],
    ["a number as kernels", { ...table, kernelHash: 1 }, "[t] [kernelHash] expected a text, got a number"],
    ["entries in a list", { ...table, entries: [] }, "[t] [entries] expected an object, got a list"],
    ["an entry of null", { ...table, entries: { x: null } }, "[t] [x] expected an object, got null"],
    ["no variant", { ...table, entries: { x: { timesUs: {} } } }, "[t] [x] [variant] expected a text, got nothing"],
    ["no times", { ...table, entries: { x: { variant: "a" } } }, "[t] [x] [timesUs] expected an object, got nothing"],
    [
      "a time below zero",
      { ...table, entries: { x: { variant: "a", timesUs: { a: -1 } } } },
      "[t] [x] [timesUs] [a] expected microseconds, got -1",
    ],
    [
      "a time as text",
      { ...table, entries: { x: { variant: "a", timesUs: { a: "1" } } } },
      "[t] [x] [timesUs] [a] expected microseconds, got a string",
    ],
  ])("with %s is refused, naming the field", (_, value, message) => {
    const error = failure(() => checkTuningTable(value, "t"));
    expect(error.code).toBe("attr");
    expect(error.message).toContain(message);
  });

  test("may have any text as a key", () => {
    const json = `{"device":"d","driverVersion":"","kernelHash":"","entries":{"__proto__":{"variant":"v","timesUs":{}}}}`;
    const { entries } = checkTuningTable(JSON.parse(json));
    expect(Object.hasOwn(entries, "__proto__")).toBe(true);
    expect(Object.getPrototypeOf(entries)).toBe(Object.prototype);
  });
});

describe("the tables of the package", () => {
  test("are valid and choose variants that were measured", () => {
    const h200 = defaultTuningTable("NVIDIA H200")!;
    expect(checkTuningTable(h200)).toEqual(h200);
    for (const { variant, timesUs } of Object.values(h200.entries)) expect(Object.keys(timesUs)).toContain(variant);
  });

  test("serve the devices that they name only", () => {
    expect(defaultTuningTable("Stand-in GPU 0")).toBeUndefined();
  });
});
