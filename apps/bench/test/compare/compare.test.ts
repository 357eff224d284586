import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareFiles, isRegression, noiseOf } from "../../src/compare/compare";
import { benchFile, unetRow } from "../support/files";
import { vdBench } from "../support/harness";
import { temporaryFolder } from "../support/temporary-folder";

const verdict = (before: [number, number], after: [number, number], contender = "ours") => {
  const compared = compareFiles(benchFile([unetRow(contender, ...before)]), benchFile([unetRow(contender, ...after)]));
  return { verdict: compared[0]!.verdict, regression: isRegression(compared) };
};

describe("comparisons", () => {
  it("call a difference real only beyond the noise", () => {
    expect(verdict([1000, 1], [1100, 1])).toEqual({ verdict: "worse", regression: true });
    expect(verdict([1000, 1], [900, 1])).toEqual({ verdict: "better", regression: false });
    expect(verdict([1000, 1], [1020, 1])).toEqual({ verdict: "same", regression: false });
    expect(verdict([1000, 100], [1100, 100])).toEqual({ verdict: "same", regression: false });
    expect(verdict([1000, 1], [1100, 1], "diffusers")).toEqual({ verdict: "worse", regression: false });
  });

  it("need more difference with more noise, and never change sides when swapped", () => {
    const us = fc.double({ min: 10, max: 1e6, noNaN: true });
    const mad = fc.double({ min: 0, max: 1e4, noNaN: true });
    fc.assert(
      fc.property(us, us, mad, mad, (a, b, madA, madB) => {
        const [before, after] = [unetRow("ours", a, madA), unetRow("ours", b, madB)];
        expect(noiseOf(before, unetRow("ours", b, 2 * madB + 1))).toBeGreaterThanOrEqual(noiseOf(before, after));
        const forth = verdict([a, madA], [b, madB]).verdict;
        const back = verdict([b, madB], [a, madA]).verdict;
        if (forth === "worse") expect(back).not.toBe("worse");
        if (forth === "better") expect(back).not.toBe("better");
      }),
    );
  });

  it("tell of rows that are new, gone, or fail now", () => {
    const failed = { suite: "unet", name: "2x25", contender: "ours", reason: "out of memory" };
    const compared = (before: Parameters<typeof benchFile>[0], after: Parameters<typeof benchFile>[0]) =>
      compareFiles(benchFile(before), benchFile(after)).map((each) => each.verdict);
    expect(compared([], [unetRow("ours", 1, 0)])).toEqual(["new"]);
    expect(compared([unetRow("ours", 1, 0)], [])).toEqual(["gone"]);
    expect(compared([unetRow("ours", 1, 0)], [failed])).toEqual(["failed"]);
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
      stdout: expect.stringContaining("worse"),
    });
    expect(await vdBench(["compare", slow!, fast!])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("better"),
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
