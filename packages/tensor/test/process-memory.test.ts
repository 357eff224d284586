import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { bundledProgram } from "../../../tooling/testing/program";
import { peakProcessBytes } from "../src/index";

const PROGRAM = fileURLToPath(new URL("support/peak-memory.ts", import.meta.url));
const MIB = 2 ** 20;

describe("the most memory of a process", () => {
  it("is that of its own life, not of the process that started it", async () => {
    const held = Buffer.alloc(256 * MIB, 1);
    const { stdout } = await promisify(execFile)(process.execPath, [await bundledProgram(PROGRAM)]);
    expect(Number(stdout)).toBeGreaterThan(10 * MIB);
    expect(Number(stdout)).toBeLessThan(200 * MIB);
    expect(peakProcessBytes()).toBeGreaterThan(held.length);
  });

  it("does not fall", () => {
    const before = peakProcessBytes();
    Buffer.alloc(32 * MIB, 1);
    expect(peakProcessBytes()).toBeGreaterThanOrEqual(before);
  });
});
