import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareRuns, isRegression, type Verdict } from "../../src/compare/compare";
import type { BenchRow } from "../../src/measure/report";
import { benchFile, unetRow } from "../support/files";
import { vdBench } from "../support/harness";
import { randomNumbers } from "../support/random";
import { rowOf } from "../support/rows";
import { temporaryFolder } from "../support/temporary-folder";

/** Verdicts of some runs of one row beside others'. */
const verdictOf = (before: readonly BenchRow[], after: readonly BenchRow[]): Verdict => {
  const files = (rows: readonly BenchRow[]) => rows.map((row) => benchFile([row]));
  return compareRuns(files(before), files(after))[0]!.verdict;
};
const verdict = (before: [number, number], after: [number, number], contender = "ours") => {
  const compared = compareRuns(
    [benchFile([unetRow(contender, ...before)])],
    [benchFile([unetRow(contender, ...after)])],
  );
  return { verdict: compared[0]!.verdict, regression: isRegression(compared) };
};

describe("one run a side", () => {
  it("calls a difference real only beyond the noise and the least change", () => {
    expect(verdict([1000, 1], [1100, 1])).toEqual({ verdict: "slower", regression: true });
    expect(verdict([1000, 1], [900, 1])).toEqual({ verdict: "faster", regression: false });
    expect(verdict([1000, 1], [1040, 1])).toEqual({ verdict: "same", regression: false });
    expect(verdict([1000, 100], [1100, 100])).toEqual({ verdict: "same", regression: false });
    expect(verdict([1000, 1], [1100, 1], "diffusers")).toEqual({ verdict: "slower", regression: false });
  });

  it("never changes sides when swapped", () => {
    const us = fc.double({ min: 10, max: 1e6, noNaN: true });
    const mad = fc.double({ min: 0, max: 1e4, noNaN: true });
    const swapped = { faster: "slower", slower: "faster", same: "same", undecided: "undecided" } as const;
    fc.assert(
      fc.property(us, us, mad, mad, (a, b, madA, madB) => {
        const forth = verdict([a, madA], [b, madB]).verdict as keyof typeof swapped;
        expect(verdict([b, madB], [a, madA]).verdict).toBe(swapped[forth]);
      }),
    );
  });

  it("needs three samples a side, also where many rows share the error", () => {
    const few = (num: number, us: number) =>
      rowOf(
        "x",
        Array.from({ length: num }, (_, i) => us + i),
      );
    expect(verdictOf([few(2, 1000)], [few(5, 2000)])).toBe("undecided");
    expect(verdictOf([few(3, 1000)], [few(3, 2000)])).toBe("slower");
    expect(verdictOf([{ suite: "unet", name: "x", contender: "ours", medianUs: 5 }], [few(5, 2000)])).toBe("undecided");
    const many = (us: number) =>
      benchFile(Array.from({ length: 300 }, (_, i) => ({ ...few(6, us), name: `row ${i}` })));
    expect(new Set(compareRuns([many(1000)], [many(1100)]).map((each) => each.verdict))).toEqual(new Set(["slower"]));
  });
});

describe("noise in simulations", () => {
  const random = randomNumbers(20_261_122);
  /** Times of 1000 µs and more, with a heavy tail: one in ten takes up to five times as long. */
  const noisy = (num: number, factor = 1) =>
    Array.from({ length: num }, () => {
      const tail = random.uniform() < 0.1 ? 1 + 4 * random.uniform() : 1;
      return factor * 1000 * tail * Math.exp(0.15 * random.normal());
    });

  it("in unchanged code is called a change in no more comparisons than is stated, whatever the number of rows", () => {
    for (const numRows of [1, 10]) {
      let numFalse = 0;
      const numComparisons = 1000;
      for (let i = 0; i < numComparisons; i++) {
        const file = () => benchFile(Array.from({ length: numRows }, (_, n) => rowOf(`row ${n}`, noisy(15))));
        const verdicts = compareRuns([file()], [file()]).map((each) => each.verdict);
        if (verdicts.some((each) => each === "faster" || each === "slower")) numFalse++;
      }
      // Three standard deviations above 1 in 100.
      expect(numFalse).toBeLessThanOrEqual(10 + 3 * Math.sqrt(10));
    }
  });

  it("hides no change of 10 % with enough samples", () => {
    let numFound = 0;
    for (let i = 0; i < 100; i++)
      if (verdictOf([rowOf("x", noisy(150))], [rowOf("x", noisy(150, 1.1))]) === "slower") numFound++;
    expect(numFound).toBeGreaterThanOrEqual(95);
  });

  it("in unchanged code stays as rare where samples are too few for ranks", () => {
    let numFalse = 0;
    const numComparisons = 100;
    for (let i = 0; i < numComparisons; i++) {
      const file = () => benchFile(Array.from({ length: 100 }, (_, n) => rowOf(`row ${n}`, noisy(6))));
      const verdicts = compareRuns([file()], [file()]).map((each) => each.verdict);
      if (verdicts.some((each) => each === "faster" || each === "slower")) numFalse++;
    }
    expect(numFalse).toBeLessThanOrEqual(1 + 3);
  });

  it("between runs counts once there are several, and hides no change of 10 % there", () => {
    // Samples agree within a run, and whole runs differ by 8 %: one run a side takes that for a change.
    const run = (spread: number, factor = 1) => {
      const level = factor * 1000 * Math.exp(spread * random.normal());
      return rowOf(
        "x",
        Array.from({ length: 15 }, () => level * Math.exp(0.01 * random.normal())),
      );
    };
    const runs = (num: number, spread: number, factor = 1) => Array.from({ length: num }, () => run(spread, factor));
    const isChange = (each: Verdict) => each === "faster" || each === "slower";
    const numTrials = 1000;
    const count = (test: () => boolean) => Array.from({ length: numTrials }, test).filter(Boolean).length;
    const single = count(() => isChange(verdictOf(runs(1, 0.08), runs(1, 0.08))));
    const several = count(() => isChange(verdictOf(runs(3, 0.08), runs(3, 0.08))));
    expect(single).toBeGreaterThan(0.3 * numTrials);
    expect(several).toBeLessThanOrEqual(10 + 3 * Math.sqrt(10));
    expect(count(() => verdictOf(runs(3, 0.01), runs(3, 0.01, 1.1)) === "slower")).toBeGreaterThan(0.95 * numTrials);
  });
});

describe("comparisons", () => {
  it("tell of rows that are new, gone, or fail now", () => {
    const failed = { suite: "unet", name: "2x25", contender: "ours", reason: "out of memory" };
    const compared = (before: Parameters<typeof benchFile>[0], after: Parameters<typeof benchFile>[0]) =>
      compareRuns([benchFile(before)], [benchFile(after)]).map((each) => each.verdict);
    expect(compared([], [unetRow("ours", 1, 0)])).toEqual(["new"]);
    expect(compared([unetRow("ours", 1, 0)], [])).toEqual(["gone"]);
    expect(compared([unetRow("ours", 1, 0)], [failed])).toEqual(["failed"]);
    const good = unetRow("ours", 1, 0);
    expect(verdictOf([good, good], [good, failed])).toBe("failed");
  });

  it("leave out runs whose median rests on too few samples", () => {
    const whole = [1000, 1001, 1002].map((us) => unetRow("ours", us, 1));
    const once = { ...unetRow("ours", 5000, 0), samplesUs: [5000] };
    const [compared] = compareRuns(
      whole.map((row) => benchFile([row])),
      [...whole, once].map((row) => benchFile([row])),
    );
    expect(compared).toMatchObject({ verdict: "same", numBefore: 3, numAfter: 3, unit: "runs" });
  });
});

describe("vd-bench compare", () => {
  const files = (...contents: (string | object)[]) => {
    const folder = temporaryFolder();
    return contents.map((content, i) => {
      const path = join(folder, `${i}.json`);
      writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
      return path;
    });
  };

  it("ends with 1 on a real regression of ours, with 0 otherwise", async () => {
    const [slow, fast] = files(benchFile([unetRow("ours", 2000, 1)]), benchFile([unetRow("ours", 1000, 1)]));
    expect(await vdBench(["compare", fast!, slow!])).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("slower"),
    });
    expect(await vdBench(["compare", slow!, fast!])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("faster"),
    });
  });

  it("takes several files a side, and says what its verdicts rest on", async () => {
    const results = (us: number) => [1, 1.004, 0.997].map((factor) => benchFile([unetRow("ours", us * factor, 1)]));
    const paths = files(...results(1000), ...results(1200));
    const ran = await vdBench(["compare", "--base", ...paths.slice(0, 3), "--new", ...paths.slice(3)]);
    expect(ran.status).toBe(1);
    expect(ran.stdout).toMatch(/unet 2x25 +ours +1\.00 +1\.20 +20\.0 % +[\d.]+ % to [\d.]+ % +3, 3 runs +slower/);
    expect(ran.stdout).toContain("in 1 % of comparisons; changes below 3 % are the same.");
    const two = await vdBench(["compare", paths[0]!, paths[1]!]);
    expect(two).toMatchObject({ status: 0, stdout: expect.stringContaining("same within noise") });
    expect(two.stdout).toContain("compare --base A B C --new D E F");
  });

  it("is wrong usage with one file, with one side, or with both forms", async () => {
    const [a] = files(benchFile([]));
    for (const words of [[a!], ["--base", a!], ["--new", a!], [a!, a!, "--base", a!, "--new", a!], []])
      expect(await vdBench(["compare", ...words])).toMatchObject({
        status: 2,
        stderr: expect.stringContaining("expected BEFORE.json AFTER.json, or --base FILES --new FILES"),
      });
  });

  it("refuses another device unless forced", async () => {
    const [a, b] = files(benchFile([unetRow("ours", 1000, 1)], "A"), benchFile([unetRow("ours", 1000, 1)], "B"));
    const refused = await vdBench(["compare", a!, b!]);
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("Use --force") });
    expect(await vdBench(["compare", a!, b!, "--force"])).toMatchObject({ status: 0 });
  });

  it("takes a figure that is not finite, null in JSON, for none", async () => {
    const row = { ...unetRow("ours", 1000, 1), error: Number.POSITIVE_INFINITY };
    const [a, b] = files(benchFile([row]), benchFile([{ ...row, medianUs: Number.NaN }]));
    expect(await vdBench(["compare", a!, a!])).toMatchObject({ status: 0, stdout: expect.stringContaining("same") });
    expect(await vdBench(["compare", a!, b!])).toMatchObject({ status: 1, stdout: expect.stringContaining("failed") });
  });

  it("says in a sentence what is wrong with a file", async () => {
    const [good, text, other, newer] = files(benchFile([]), "{ no", { a: 1 }, { ...benchFile([]), version: 2 });
    const complaint = async (path: string) => (await vdBench(["compare", good!, path])).stderr;
    expect(await complaint(text!)).toContain("got no JSON");
    expect(await complaint(other!)).toContain("got JSON of another kind");
    expect(await complaint(newer!)).toContain("got format version 2");
    expect(await complaint(`${good}.gone`)).toContain("got no such file");
    const row = unetRow("ours", 1, 0);
    const { tables, ...cut } = benchFile([row]);
    const damaged = {
      "row 0 with no object": benchFile([null as never]),
      "row 1 with no contender": benchFile([row, { suite: "ops", name: "a" } as never]),
      'row 0 with medianUs "fast"': benchFile([{ ...row, medianUs: "fast" as never }]),
      "row 0 with samplesUs that are no numbers": benchFile([{ ...row, samplesUs: [1, null as never] }]),
      "results without tables": cut,
    };
    for (const [problem, contents] of Object.entries(damaged)) {
      expect(tables).toEqual({});
      expect(await complaint(files(contents)[0]!)).toContain(`got ${problem}. Name a file`);
    }
  });
});
