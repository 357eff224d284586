import { describe, expect, it } from "vitest";
import {
  CALL_KINDS,
  type CallKind,
  CallPlanner,
  type CallSavings,
  countCalls,
  noCalls,
  savesCalls,
} from "../../src/denoising/call-planner";

const NOTHING: CallSavings = { guided: [0, Number.POSITIVE_INFINITY], featureInterval: 1, changeThreshold: 0 };
const sampler = { sigmas: Float32Array.of(700, 200, 50, 10, 2, 0.5, 0.1, 0.01, 0), numModelCalls: 8 };

/** The kinds of all calls; change: by how much the input changes in each step. */
function kinds(
  savings: Partial<CallSavings>,
  { rows = 2, change = 0 }: { rows?: 1 | 2; change?: number } = {},
): CallKind[] {
  const planner = new CallPlanner(sampler, rows, { ...NOTHING, ...savings });
  return Array.from({ length: sampler.numModelCalls }, (_, call) => {
    const kind = planner.next(call);
    planner.observe(change);
    return kind;
  });
}

describe("calls", () => {
  it("are all made in full where nothing is saved", () => {
    expect(new Set(kinds({}))).toEqual(new Set(["full"]));
    expect(savesCalls(NOTHING, 2)).toBe(false);
    expect(savesCalls({ ...NOTHING, guided: [0.2, 100] }, 1)).toBe(false);
    expect(savesCalls({ ...NOTHING, guided: [0.2, 100] }, 2)).toBe(true);
  });

  it("are guided at the noise levels of the interval, its ends included", () => {
    const expected = ["unguided", "unguided", "full", "full", "full", "full", "unguided", "unguided"];
    expect(kinds({ guided: [0.5, 50] })).toEqual(expected);
    expect(new Set(kinds({ guided: [0.5, 50] }, { rows: 1 }))).toEqual(new Set(["full"]));
  });

  it("reuse features until they are too old", () => {
    const [full, reusing] = ["full", "full, reusing"];
    expect(kinds({ featureInterval: 3 })).toEqual([full, reusing, reusing, full, reusing, reusing, full, reusing]);
  });

  it("with guidance compute features after ones without; ones without take either's", () => {
    expect(kinds({ guided: [0.5, 50], featureInterval: 9 })).toEqual([
      "unguided",
      "unguided, reusing",
      "full",
      ...Array(3).fill("full, reusing"),
      ...Array(2).fill("unguided, reusing"),
    ]);
  });

  it("are skipped until the input has changed enough, at most three in a row, and not the first or the last", () => {
    expect(kinds({ changeThreshold: 0.25 }, { change: 0.1 })).toEqual([
      ...["full", "skipped", "skipped", "full", "skipped", "skipped", "full", "full"],
    ]);
    expect(kinds({ changeThreshold: 0.25 }, { change: 0 })).toEqual([
      ...["full", "skipped", "skipped", "skipped", "full", "skipped", "skipped", "full"],
    ]);
    expect(kinds({ changeThreshold: 0.25 }, { change: Number.NaN }).filter((kind) => kind === "skipped")).toEqual([]);
  });

  it("are made where guidance begins or ends, and skipped ones do not age features", () => {
    expect(kinds({ guided: [0.5, 50], changeThreshold: 1, featureInterval: 2 })).toEqual([
      ...["unguided", "skipped", "full", "skipped", "skipped", "skipped", "unguided, reusing", "unguided"],
    ]);
  });

  it("after latents that were replaced compute everything", () => {
    const planner = new CallPlanner(sampler, 2, { ...NOTHING, featureInterval: 5, changeThreshold: 1 });
    expect([planner.next(0), planner.next(1)]).toEqual(["full", "skipped"]);
    planner.forget();
    expect(planner.next(2)).toBe("full");
  });

  it("are counted before they are made: exactly where nothing is measured, else within limits that hold and are reached", () => {
    const fixed = { ...NOTHING, guided: [0.5, 50], featureInterval: 2 } as const;
    const { fewest, most } = countCalls(sampler, 2, fixed);
    expect(fewest).toEqual(most);
    expect(most).toEqual({ full: 2, "full, reusing": 2, unguided: 2, "unguided, reusing": 2, skipped: 0 });
    const savings = { ...fixed, changeThreshold: 0.5 };
    const range = countCalls(sampler, 2, savings);
    const seen = { fewest: { ...most, skipped: 8 }, most: noCalls() };
    for (let way = 0; way < 2 ** 8; way++) {
      const planner = new CallPlanner(sampler, 2, savings);
      const counts = noCalls();
      for (let call = 0; call < 8; call++) {
        counts[planner.next(call)]++;
        planner.observe((way >> call) & 1);
      }
      for (const kind of CALL_KINDS) {
        expect(counts[kind]).toBeGreaterThanOrEqual(range.fewest[kind]);
        expect(counts[kind]).toBeLessThanOrEqual(range.most[kind]);
        seen.fewest[kind] = Math.min(seen.fewest[kind], counts[kind]);
        seen.most[kind] = Math.max(seen.most[kind], counts[kind]);
      }
    }
    expect(seen).toEqual(range);
  });
});
