/** What programs beside vd-bench need to measure as it does. */

export { encodePlainPng, readPicture, testPicture } from "./io/pictures";
export { plannedCases } from "./ops/plan-ops";
export { distanceOf, generateForQuality, type QualityRun } from "./quality/compare-variants";
export { type Dependencies, run as runBench } from "./run";
export { median, relativeL2 } from "./stats/summary";
