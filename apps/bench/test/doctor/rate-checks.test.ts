import { type Device, openDevice, VdError } from "@vd/kernels-native";
import { layoutGraph, Plan } from "@vd/tensor";
import { describe, expect, it } from "vitest";
import { expectedOfCpu, expectedOfGpu } from "../../src/doctor/expected";
import { clockMhzOf, gpuMemoryCheck, judgeRates, rateChecks } from "../../src/doctor/rate-checks";
import { measureMemcpyGbPerS } from "../../src/doctor/rates";

/** Two hardware threads with AVX-512 at 2.5 GHz: a peak of 0.16 TFLOP/s. */
const CPU = { isa: "avx512", threads: 2, clockMhz: 2500, memcpyGbPerS: 8 };
const verdicts = (kind: "cpu" | "cuda", copyGbPerS: number, matrixTflopPerS: number, gpu = "NVIDIA H200") =>
  judgeRates(
    kind,
    { copyGbPerS, matrixTflopPerS },
    kind === "cpu" ? expectedOfCpu(CPU) : expectedOfGpu(gpu, copyGbPerS),
  ).map(({ verdict }) => verdict);

describe("rates of a CPU", () => {
  it("are ok where they are what such a machine does", () => {
    expect(verdicts("cpu", 12, 0.12)).toEqual(["ok", "ok"]);
  });

  it("are slow far below, with what is expected, why, and what to do", () => {
    expect(verdicts("cpu", 2, 0.12)).toEqual(["slow", "ok"]);
    expect(verdicts("cpu", 12, 0.04)).toEqual(["ok", "slow"]);
    const [copy, matrix] = judgeRates("cpu", { copyGbPerS: 2, matrixTflopPerS: 0.04 }, expectedOfCpu(CPU));
    expect(copy).toMatchObject({ name: "CPU copy", found: expect.stringMatching(/^2\.0 GB\/s read and written/) });
    expect(copy!.advice).toMatch(/^Expected 5\.13 or more: 30 % of one channel of DDR4-2133\. Close other programs/);
    expect(matrix!.advice).toMatch(
      /^Expected 0\.0480 or more: 30 % of the peak of 2 hardware threads with avx512 at 2\.5 GHz/,
    );
  });

  it("are held against this machine's own memcpy where that is fast", () => {
    const { copy } = expectedOfCpu({ ...CPU, memcpyGbPerS: 40 });
    expect(copy).toEqual({ atLeast: 20, why: "50 % of what one thread's memcpy reaches here" });
  });

  it("are expected to grow with threads, clock and instruction set; an unknown clock is assumed and said", () => {
    const least = (facts: Partial<typeof CPU>) => expectedOfCpu({ ...CPU, ...facts }).matrix.atLeast;
    expect(least({ threads: 4 })).toBeCloseTo(2 * least({}), 12);
    expect(least({ clockMhz: 5000 })).toBeCloseTo(2 * least({}), 12);
    const byIsa = ["plain", "avx2", "avx512", "amx"].map((isa) => least({ isa }));
    expect(byIsa).toEqual([...byIsa].sort((a, b) => a - b));
    expect(new Set(byIsa).size).toBe(4);
    expect(clockMhzOf({ model: "Some CPU @ 2.50GHz", speed: 0 })).toBe(2500);
    expect(clockMhzOf({ model: "Some CPU @ 2.50GHz", speed: 3100 })).toBe(3100);
    expect(clockMhzOf({ model: "AMD EPYC", speed: 0 })).toBe(0);
    expect(expectedOfCpu({ ...CPU, clockMhz: 0 }).matrix.why).toContain("2.0 GHz (assumed)");
  });

  it("fail where there is no number", () => {
    expect(verdicts("cpu", Number.NaN, 0)).toEqual(["failed", "failed"]);
    expect(verdicts("cpu", Number.POSITIVE_INFINITY, -1)).toEqual(["failed", "failed"]);
  });
});

describe("rates of a GPU", () => {
  it("are held against the card's own, by its name", () => {
    expect(verdicts("cuda", 3675, 750)).toEqual(["ok", "ok"]);
    expect(verdicts("cuda", 1800, 750)).toEqual(["slow", "ok"]);
    expect(verdicts("cuda", 3675, 200)).toEqual(["ok", "slow"]);
    expect(verdicts("cuda", 220, 30, "Tesla T4")).toEqual(["ok", "ok"]);
    expect(expectedOfGpu("NVIDIA H200", 1).copy.why).toBe("50 % of the card's 4800 GB/s");
  });

  it("of an unknown card are held against each other and the slowest card", () => {
    expect(verdicts("cuda", 500, 60, "Some GPU")).toEqual(["ok", "ok"]);
    expect(verdicts("cuda", 500, 15, "Some GPU")).toEqual(["ok", "slow"]);
    expect(verdicts("cuda", 20, 60, "toString")).toEqual(["slow", "ok"]);
  });

  it("come with what is free there", () => {
    expect(gpuMemoryCheck(2 ** 34, 2 ** 35)).toMatchObject({ verdict: "ok", found: "16.0 GiB free of 32.0 GiB" });
    expect(gpuMemoryCheck(2 ** 31, 2 ** 35)).toMatchObject({ verdict: "note", advice: expect.any(String) });
  });
});

describe("measuring", () => {
  const rates = { copyGbPerS: 1e6, matrixTflopPerS: 1e6 };
  const tools = { open: openDevice, measure: async () => rates, memcpyGbPerS: () => 10 };

  it("judges what it measures", async () => {
    expect((await rateChecks("cpu", 1, tools)).map(({ verdict }) => verdict)).toEqual(["ok", "ok"]);
    const slow = { ...tools, measure: async () => ({ copyGbPerS: 0.1, matrixTflopPerS: 1e-6 }) };
    expect((await rateChecks("cpu", 1, slow)).map(({ verdict }) => verdict)).toEqual(["slow", "slow"]);
  });

  it("that breaks off has failed, with the error's hint", async () => {
    const error = new VdError({ code: "memory", where: "plan", expected: "room", got: "none", hint: "Buy some." });
    const broken = { ...tools, measure: () => Promise.reject(error) };
    expect(await rateChecks("cpu", 1, broken)).toEqual([
      { name: "CPU", verdict: "failed", found: "expected room, got none (plan)", advice: "Buy some." },
    ]);
    const closed = {
      ...tools,
      open: (): Device => {
        throw new Error("no such device");
      },
    };
    expect(await rateChecks("cuda", undefined, closed)).toMatchObject([{ name: "GPU", verdict: "failed" }]);
  });

  it("times a row that a fast path serves, beside a memcpy that is one", async () => {
    const layout = layoutGraph((g) => g.output("y", g.pointwise({ a: g.input("a", [1, 1, 64, 1024], "f32") })));
    const plan = await Plan.load(openDevice("cpu", { threads: 1 }), layout);
    expect(plan.info.fast).toEqual([true]);
    const numbers = Float32Array.from({ length: 64 * 1024 }, (_, i) => i - 7.5);
    plan.writeSync("a", numbers);
    await plan.run();
    expect(Buffer.compare(Buffer.from(plan.readSync("y").buffer), Buffer.from(numbers.buffer))).toBe(0);
    plan.freeSync();
    expect(measureMemcpyGbPerS()).toBeGreaterThan(0.1);
  });
});
