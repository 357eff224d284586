import { describe, expect, it } from "vitest";
import {
  type Bar,
  barsFigure,
  CategoryColors,
  linesFigure,
  rooflineFigure,
  type TrendPoint,
  trendFigure,
} from "../../src/charts";

const bar = (label: string, value: number): Bar => ({ label, value, text: `${value} s`, short: "s", color: "red" });

describe("barsFigure", () => {
  it("draws each bar as long as its value, in both widths", () => {
    const figure = barsFigure([bar("a", 1), bar("b", 2)], { label: "Times", unit: "s" });
    for (const width of ["wide", "narrow"])
      expect(figure).toContain(`<div class="${width}" role="img" aria-label="Times">`);
    const lengths = [...figure.matchAll(/<rect [^>]*\bwidth="([\d.]+)"/g)].map(([, width]) => Number(width));
    expect(lengths).toHaveLength(4);
    expect(lengths[1]! / lengths[0]!).toBeCloseTo(2);
    expect(lengths[3]! / lengths[2]!).toBeCloseTo(2);
  });

  it("refuses two bars of one label, which would be drawn as their sum", () => {
    expect(() => barsFigure([bar("ours", 14.6), bar("ours", 15)], { label: "Memory", unit: "GiB" })).toThrow(
      'Memory: two bars are called "ours"',
    );
  });

  it("draws a rule where it is asked for", () => {
    const options = { label: "Ratios", unit: "times" };
    expect(barsFigure([bar("a", 2)], options)).not.toContain("stroke-dasharray");
    expect(barsFigure([bar("a", 2)], { ...options, rule: 1 })).toContain("stroke-dasharray");
  });
});

describe("rooflineFigure", () => {
  it("draws a dot per point and a line per type", () => {
    const point = { title: "conv", category: "conv", intensity: 10, gigaflopPerS: 100 };
    const ceilings = { gigabytesPerS: 100, teraflopPerS: { f16: 10, f32: 1 } };
    const figure = rooflineFigure([point, { ...point, intensity: 20 }], ceilings, new CategoryColors(["conv"]));
    expect(figure.split("<circle")).toHaveLength(1 + 2 * 2);
    expect(figure).toContain("var(--category-0)");
    expect(figure).not.toMatch(/NaN|undefined/);
  });
});

describe("CategoryColors", () => {
  it("has eight colours, and one for the others", () => {
    const colors = new CategoryColors(Array.from({ length: 9 }, (_, i) => `op${i}`));
    expect([colors.of("op0"), colors.of("op7"), colors.of("op8")]).toEqual([
      "var(--category-0)",
      "var(--category-7)",
      "var(--category-other)",
    ]);
    expect(colors.legend({ scope: "var(--scope)" })).toMatch(/op7.*others.*scope/);
  });
});

describe("lines", () => {
  const points = [1, 3, 2].map((y, x) => ({ x, y }));
  const options = { label: 'by "frame"', x: "frame", y: "ms" };

  it("are one path for each series at both widths, with a key where there are several", () => {
    const html = linesFigure(
      [
        { name: "a", points },
        { name: "b<c", points },
      ],
      options,
    );
    expect(html.match(/aria-label="by &quot;frame&quot;"/g)?.length).toBe(2);
    expect(html.match(/stroke="var\(--category-[01]\)"/g)?.length).toBe(4);
    expect(html).toContain("b&lt;c");
    expect(html).toContain('class="legend"');
  });

  it("have a colour and a range of their own where they are given", () => {
    const html = linesFigure(
      [
        { name: "red", points, color: "#d1242f" },
        { name: "b", points },
      ],
      {
        ...options,
        range: [0, 100],
      },
    );
    expect(html.match(/stroke="#d1242f"/g)?.length).toBe(2);
    expect(html).toContain("background:#d1242f");
    expect(html).toContain(">100<");
  });

  it("have no key where there is one", () => {
    expect(linesFigure([{ name: "a", points }], options)).not.toContain("legend");
  });
});

describe("trendFigure", () => {
  const point = (series: string, step: string, value: number): TrendPoint => ({
    ...{ series, step, value, low: value / 1.1, high: value * 1.1 },
    title: `${series} ${step}`,
  });

  it("draws a line for each series over all steps, with a key, outliers and the rule", () => {
    const points = [point("unet", "1", 2), point("unet", "2", 1), point("vae", "2", 1)];
    const options = { label: "History", y: "times the best", steps: ["1", "2", "3"] };
    const figure = trendFigure(points, { ...options, rule: 1, outliers: [point("x", "2", 8)] });
    expect(figure).toMatch(/<i style="background:var\(--category-0\)"><\/i>unet/);
    expect(figure).toMatch(/<i style="background:var\(--category-1\)"><\/i>vae/);
    expect(figure.match(/<circle/g)).toHaveLength(2 * 4);
    expect(figure).toContain("<title>x 2</title>");
    expect(figure).toContain("stroke-dasharray");
    expect(trendFigure(points.slice(0, 2), options)).not.toContain("legend");
  });

  it("labels fewer steps than there are where they have no room, the last one always", () => {
    const steps = Array.from({ length: 50 }, (_, i) => `s${i}`);
    const figure = trendFigure(
      steps.map((step) => point("a", step, 1)),
      { label: "x", y: "y", steps },
    );
    expect(figure).toContain(">s49</text>");
    expect(figure).not.toContain(">s48</text>");
  });
});
