import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { betaQuantile } from "../../src/schedule/beta-quantile";
import { numpyLogFloat32 } from "../../src/schedule/numpy-log";
import { arangeDown, interpolate, linspace, linspaceFloat32, roundHalfEven } from "../../src/schedule/ranges";

describe("ranges", () => {
  it("linspace hits both ends", () => {
    expect(linspace(0, 999, 5)).toEqual([0, 249.75, 499.5, 749.25, 999]);
    expect(linspace(3, 7, 1)).toEqual([3]);
  });

  it("linspaceFloat32 has torch's bits", () => {
    expect(Array.from(linspaceFloat32(1, 3, 14))).toEqual([
      1, 1.1538461446762085, 1.307692289352417, 1.4615384340286255, 1.615384578704834, 1.769230842590332,
      1.9230769872665405, 2.076923131942749, 2.230769157409668, 2.384615421295166, 2.538461446762085, 2.692307710647583,
      2.846153736114502, 3,
    ]);
    expect(Array.from(linspaceFloat32(3, 1, 4))).toEqual([3, 2.3333332538604736, 1.6666667461395264, 1]);
    expect(Array.from(linspaceFloat32(1, 3, 1))).toEqual([1]);
  });

  it("arangeDown makes one element too many where numpy.arange does", () => {
    const tooMany = Array.from({ length: 230 }, (_, i) => i + 1).filter((n) => arangeDown(1000, 1000 / n).length !== n);
    expect(tooMany).toEqual([61, 103, 121, 122, 201, 206, 217, 223, 227]);
  });

  it("arangeDown rounds as numpy.arange does", () => {
    // Sums of numpy.arange(1000, 0, -1000/n).round().
    const sum = (n: number) => arangeDown(1000, 1000 / n).reduce((total, value) => total + roundHalfEven(value), 0);
    expect([1, 2, 3, 12, 33, 48].map(sum)).toEqual([1000, 1500, 2000, 6500, 17_000, 24_496]);
  });

  it("rounds half to even", () => {
    expect([0.5, 1.5, 2.5, -0.5, -1.5, 2.4999, 2.5001].map(roundHalfEven)).toEqual([0, 2, 2, 0, -2, 2, 3]);
  });

  it("interpolates between neighbours and stays flat outside", () => {
    const values = [1, 3, 11];
    expect([-5, 0, 0.5, 1, 1.25, 2, 9].map((x) => interpolate(x, values))).toEqual([1, 1, 2, 3, 5, 11, 11]);
  });
});

describe("numpyLogFloat32", () => {
  it("has numpy's bits, also where they are not the nearest", () => {
    expect(numpyLogFloat32(0.7843070030212402)).toBe(-0.24295471608638763);
    expect(Math.fround(Math.log(0.7843070030212402))).not.toBe(-0.24295471608638763);
    expect([0.029167529195547104, 14.614646911621094, 3, 1.5, 700].map(numpyLogFloat32)).toEqual([
      -3.5346992015838623, 2.6820242404937744, 1.0986123085021973, 0.40546509623527527, 6.551080226898193,
    ]);
  });

  it("stays within 4 units of the logarithm", () => {
    fc.assert(
      fc.property(fc.float({ min: Math.fround(1e-30), max: Math.fround(1e30), noNaN: true }), (x) => {
        const exact = Math.log(x);
        const unit = 2 ** (Math.floor(Math.log2(Math.max(Math.abs(exact), 1e-9))) - 23);
        expect(Math.abs(numpyLogFloat32(x) - exact)).toBeLessThanOrEqual(4 * unit);
      }),
      { seed: 3, numRuns: 5000 },
    );
    expect(numpyLogFloat32(1)).toBe(0);
    expect(numpyLogFloat32(0)).toBe(Number.NEGATIVE_INFINITY);
    expect(numpyLogFloat32(-1)).toBeNaN();
  });
});

describe("betaQuantile", () => {
  it("gives scipy.stats.beta.ppf", () => {
    const close = (ours: number, golden: number) => expect(Math.abs(ours / golden - 1)).toBeLessThan(1e-12);
    const golden = [
      [1e-6, 1.8558824624053043e-10],
      [0.01, 0.0008612388215429059],
      [0.1, 0.03958440558878085],
      [0.25, 0.17568037865269498],
      [0.5, 0.5],
      [0.9, 0.9604155944112192],
      [0.999, 0.9999814412614826],
    ] as const;
    for (const [probability, quantile] of golden) close(betaQuantile(probability, 0.6, 0.6), quantile);
    close(betaQuantile(0.01, 2, 3.5), 0.03675446870507129);
    close(betaQuantile(0.5, 2, 3.5), 0.34608605024787026);
    close(betaQuantile(0.99, 2, 3.5), 0.8176446051099847);
    expect([betaQuantile(0, 0.6, 0.6), betaQuantile(1, 0.6, 0.6)]).toEqual([0, 1]);
  });

  it("rises and mirrors itself", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), (p, q) => {
        const [low, high] = [Math.min(p, q), Math.max(p, q)];
        expect(betaQuantile(low, 0.6, 0.6)).toBeLessThanOrEqual(betaQuantile(high, 0.6, 0.6));
        expect(betaQuantile(p, 0.6, 0.6) + betaQuantile(1 - p, 0.6, 0.6)).toBeCloseTo(1, 9);
      }),
      { seed: 5, numRuns: 100 },
    );
  });
});
