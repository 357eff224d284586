import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { CARDS, type Card, cardOfDevice } from "../../src/roofline/cards";
import { expectWork, type KernelRates, rooflineUs } from "../../src/roofline/expect";
import { measuredOf } from "../../src/roofline/measured";
import { isProduct, passesOf, typeOf, type Work } from "../../src/roofline/work";
import { vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const card = (id: string): Card => CARDS.find((each) => each.id === id)!;
const work = (facts: Partial<Work>): Work => ({
  ...{ name: "conv x", op: "conv", type: "f16", flops: 1e12, bytes: 1e9, count: 1 },
  ...facts,
});
const RATES: KernelRates = { flopPerClock: { conv: 400, "": 300 }, shares: { "conv products": 0.6 } };

describe("cards", () => {
  it("do in a clock what their tensor cores can: a power of two times 64 products for each multiprocessor, within rounding", () => {
    for (const { id, tflopPerS, multiprocessors, clockGhz } of CARDS) {
      const perClock = (tflopPerS.f16 * 1e3) / multiprocessors / clockGhz;
      expect(Math.abs(Math.log2(perClock) - Math.round(Math.log2(perClock))), id).toBeLessThan(0.03);
    }
  });

  it("are found by the driver's name, each by one", () => {
    expect(cardOfDevice("NVIDIA GeForce RTX 4090")?.id).toBe("rtx4090");
    expect(cardOfDevice("NVIDIA GeForce")).toBeUndefined();
    const names = CARDS.flatMap((each) => each.names);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("the roofline", () => {
  it("is the longer of products and memory", () => {
    expect(rooflineUs(card("rtx4090"), work({}))).toEqual({ leastUs: 1e12 / 165.2e6, bound: "products" });
    expect(rooflineUs(card("rtx4090"), work({ flops: 1e9 }))).toEqual({ leastUs: 1e9 / 1008e3, bound: "memory" });
  });

  it("counts tf32 products twice or thrice, and plain ones once where there are no others", () => {
    expect(passesOf(work({ type: "tf32", variant: "conv_tf32x3_m64n64" }))).toBe(3);
    expect(rooflineUs(card("a100"), work({ type: "tf32" })).leastUs).toBeCloseTo(2e12 / 156e6);
    expect(rooflineUs(card("t4"), work({ type: "tf32" })).leastUs).toBeCloseTo(1e12 / 8.1e6);
    // Types that tensor cores have not run as the next wider one.
    expect(rooflineUs(card("rtx3090"), work({ type: "f8" })).leastUs).toBeCloseTo(1e12 / 71.2e6);
    expect(["f8e4m3", "i8", "bf16", "f32"].map(typeOf)).toEqual(["f8", "i8", "f16", "tf32"]);
  });
});

describe("expectations", () => {
  it("are the measured time itself on the card that was measured, but for launches", () => {
    const measuredUs = 2000;
    for (const given of [
      work({ measuredUs, variant: "sm90_m128n160" }),
      work({ measuredUs, op: "group_norm", flops: 1e9 }),
    ]) {
      const { expectedUs } = expectWork(card("h200"), card("h200"), given, RATES);
      expect(expectedUs).toBeCloseTo(measuredUs, 6);
    }
  });

  it("of memory follow the bandwidth, with the measured share of it", () => {
    const norm = work({ op: "group_norm", flops: 1e9, bytes: 4.8e9, measuredUs: 2002 });
    expect(isProduct(norm)).toBe(false);
    expect(isProduct({ ...norm, flops: 1e12 })).toBe(false);
    expect(isProduct({ ...norm, op: "layer_norm_linear", flops: 1e12 })).toBe(true);
    expect(expectWork(card("rtx4090"), card("h200"), norm, RATES).expectedUs).toBeCloseTo(2 + (4800 / 1008) * 2000, 6);
  });

  it("of products count clocks: those of the card's own products, and as many beside them as on the measured card", () => {
    const product = work({ measuredUs: 1500, variant: "sm90_m128n160" });
    const { expectedUs, leastUs } = expectWork(card("rtx4090"), card("h200"), product, RATES);
    // 512.1 FLOP a clock at best; 400 were reached where 2538 could be: 1/512.1 + 1/400 - 1/2538.
    const clocks = 1e12 * ((128 * 2.52) / 165.2e3 + 1 / 400 - (132 * 1.83) / (0.62 * 989e3));
    expect(expectedUs).toBeCloseTo(2 + clocks / 128 / 2.52 / 1e3, 3);
    expect(expectedUs).toBeGreaterThan(leastUs);
    // A kernel that all cards have is judged by itself.
    const own = expectWork(card("rtx4090"), card("h200"), { ...product, variant: "conv_mma_f16_m64n64" }, RATES);
    expect(own.expectedUs).not.toBeCloseTo(expectedUs, 0);
  });

  it("never promise that a launch takes less time on a slower card", () => {
    const tiny = work({ flops: 1e3, bytes: 1e3, measuredUs: 2.5 });
    for (const each of CARDS)
      expect(expectWork(each, card("h200"), tiny, RATES).expectedUs, each.id).toBeGreaterThanOrEqual(2.5);
  });
});

describe("vd-bench roofline", () => {
  it("lists all cards without one, and refuses one that it does not know", async () => {
    const ran = await vdBench(["roofline"]);
    for (const { id, names } of CARDS) expect(ran.stdout).toMatch(new RegExp(`^${id} +${names[0]}`, "m"));
    expect(await vdBench(["roofline", "--card", "rtx1"])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("[--card] expected one of"),
    });
  });

  it("comes within 5 % of what an H200 took, and tells what was measured beside it", async () => {
    const path = join(temporaryFolder(), "h200.json");
    const ran = await vdBench(["roofline", "--card", "h200", "--json", path]);
    expect(ran.status, ran.stderr).toBe(0);
    const { parts, whole, calculated, ops } = JSON.parse(readFileSync(path, "utf8"));
    expect(calculated).toBe(true);
    expect(whole.expectedUs / whole.measuredUs).toBeGreaterThan(0.95);
    expect(whole.expectedUs / whole.measuredUs).toBeLessThan(1.05);
    expect(parts.map(({ part, runs }: { part: string; runs: number }) => [part, runs])).toEqual([
      ["clip", 1],
      ["encode", 1],
      ["unet", 25],
      ["vae", 1],
    ]);
    expect(ops.length).toBeGreaterThan(100);
  });

  it("takes no kind's share from calls that last as long as their launches", () => {
    const files = ["model-h200", "generation-h200", "ops-h200", "mma-h200"].map((name) =>
      JSON.parse(readFileSync(join(ROOT, `reports/gpu/${name}.json`), "utf8")),
    );
    // The decoder's table has sums of 32 numbers, 6 us each, of which the roofline is a millionth.
    expect(
      files[0].tables.vae.some(
        ({ op, gigabytes }: { op: string; gigabytes: number }) => op === "elementwise" && gigabytes < 1e-3,
      ),
    ).toBe(true);
    const { shares } = measuredOf(files, new Map()).rates;
    expect(Math.min(...Object.values(shares))).toBeGreaterThan(0.05);
  });

  it("says of other cards that it calculates, what the same sum says of the H200, and prints ops when asked", async () => {
    const ran = await vdBench(["roofline", "--card", "rtx4090", "--steps", "4", "--ops"]);
    expect(ran.stdout).toContain("Calculated, not measured: svd-xt");
    expect(ran.stdout).toContain("which this card has.");
    expect(ran.stdout).toMatch(/unet +4 +153\.99/);
    expect(ran.stdout).toMatch(/^conv\.svd-xt\.unet\.down0\.res0\.conv1 /m);
    const live = await vdBench(["roofline", "--card", "t4", "--model", "sd-turbo"]);
    expect(live.stdout).toMatch(
      /For the h200 the same calculation says [\d.]+ ms for one frame and [\d.]+ ms were measured/,
    );
    expect(live.stdout).toMatch(/^encode .*\nunet .*\ndecode .*\none frame/m);
  });

  it("is what the pages say", async () => {
    const pages = ["docs/benchmarks/README.md", "docs/live.md"].map((name) => readFileSync(join(ROOT, name), "utf8"));
    for (const [model, text] of [
      ["svd-xt", pages[0]!],
      ["sd-turbo", pages[1]!],
    ] as const)
      for (const { id } of ["rtx4090", "rtx3090", "t4"].map(card)) {
        const { stdout } = await vdBench(["roofline", "--card", id, "--model", model]);
        const [least, expected] = /^(?:all, 25 steps|one frame) +([\d.]+) +([\d.]+)/m.exec(stdout)!.slice(1);
        expect(text, `${model} on ${id}`).toMatch(new RegExp(`\\| \`${id}\` \\|.*\\| ${least} \\| ${expected} \\|`));
      }
  });
});
