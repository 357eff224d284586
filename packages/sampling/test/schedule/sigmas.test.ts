import { describe, expect, it } from "vitest";
import {
  betaSigmas,
  dynamicFlowShift,
  exponentialSigmas,
  flowShift,
  karrasSigmas,
  linearSigmas,
  polyexponentialSigmas,
  sgmUniformSigmas,
  stretchToTerminal,
  trainedSigmas,
  vpSigmas,
} from "../../src/index";
import { linspace } from "../../src/schedule/ranges";

const range = { min: 0.03, max: 14.6 };

function expectNear(ours: ArrayLike<number>, golden: readonly number[], digits = 12): void {
  expect(ours).toHaveLength(golden.length);
  golden.forEach((value, i) => {
    expect(ours[i]! / value).toBeCloseTo(1, digits);
  });
}

describe("noise levels, as crowsonkb/k-diffusion@4601bf0 computes them in float64", () => {
  it("after Karras", () => {
    const golden = [14.6, 4.80863981113441, 1.28370386318758, 0.251727297286291, 0.03];
    expectNear(karrasSigmas(range, linspace(0, 1, 5)), golden);
  });

  it("even and polynomial in ln σ", () => {
    expectNear(exponentialSigmas(range, 5), [14.6, 3.10845765468024, 0.661815684310972, 0.1409058924578, 0.03]);
    expectNear(polyexponentialSigmas(range, 5), exponentialSigmas(range, 5));
    const golden = [14.6, 1.66928072630757, 0.267424442181331, 0.0650167422571602, 0.03];
    expectNear(polyexponentialSigmas(range, 5, 1.5), golden);
  });

  it("of the continuous process", () => {
    const golden = [152.166970283946, 17.0491225589681, 3.42224476257216, 0.957526482237521, 0.0104859927867064];
    expectNear(vpSigmas(5), golden, 10);
  });

  it("even in σ, and at the quantiles of a beta distribution", () => {
    expect(linearSigmas({ min: 1, max: 5 }, 5)).toEqual([5, 4, 3, 2, 1]);
    const beta = betaSigmas({ min: 0, max: 1 }, 5);
    expect([beta[0], beta[4]]).toEqual([1, 0]);
    expectNear([beta[2]!], [0.5]);
    expect(beta[1]! + beta[3]!).toBeCloseTo(1, 12);
  });

  it("of the training schedule at even timesteps, without the lowest", () => {
    const config = { beta_schedule: "scaled_linear", beta_start: 0.00085, beta_end: 0.012 };
    const trained = trainedSigmas(config);
    expect(trained).toHaveLength(1000);
    const golden = [14.614641229333637, 5.09240759066568, 2.2797302952441267, 1.1628645340851465, 0.5711888666489996];
    // The training schedule is computed in float32, as torch does.
    expectNear(sgmUniformSigmas(trained, 5), golden, 5);
  });
});

describe("shifts of flow levels", () => {
  it("move what lies between 0 and 1 towards noise, and leave the ends", () => {
    expect([0, 0.5, 1].map((sigma) => flowShift(sigma, 3))).toEqual([0, 0.75, 1]);
    expect(flowShift(0.3, 1)).toBeCloseTo(0.3, 15);
    expect(dynamicFlowShift(0.4, Math.log(3))).toBeCloseTo(flowShift(0.4, 3), 14);
    expect(dynamicFlowShift(0.4, 3, "linear")).toBeCloseTo(flowShift(0.4, 3), 14);
  });

  it("stretch a row to its last level", () => {
    const stretched = stretchToTerminal([1, 0.6, 0.2], 0.1);
    expect(stretched[0]).toBe(1);
    expectNear(stretched.slice(1), [0.55, 0.1]);
  });
});
