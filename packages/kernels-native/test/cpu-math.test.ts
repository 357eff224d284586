import { describe, expect, it } from "vitest";
import { CPU_MATH, openDevice } from "../src/index";

const hasTiles = ["amx", "avx512"].includes(openDevice("cpu").isa!);

describe("how exactly the CPU multiplies", () => {
  it("is exact where nothing is said, and where the processor gains nothing by less", () => {
    expect(openDevice("cpu", { isa: "plain" }).math).toBe("exact");
    expect(openDevice("cpu", { isa: "plain", math: "bf16", reference: true }).math).toBe("exact");
  });

  it.runIf(hasTiles)("is what was asked for with tiles, also with emulated ones", () => {
    for (const math of CPU_MATH) expect(openDevice("cpu", { isa: "amx-emulated", math }).math).toBe(math);
  });

  it("is refused by a wrong name", () => {
    expect(() => openDevice("cpu", { math: "half" as never })).toThrow(/exact, fast or bf16.*half/);
  });

  it("warns once a process where products stay exact", async () => {
    const warnings: string[] = [];
    const listen = (warning: Error & { code?: string }) => {
      if (warning.code === "VD_PRODUCTS") warnings.push(warning.message);
    };
    process.on("warning", listen);
    try {
      for (let i = 0; i < 2; i++) openDevice("cpu", { isa: "plain", math: "fast" });
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("warning", listen);
    }
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("[cpuMath] expected a processor with AMX for fast");
  });
});
