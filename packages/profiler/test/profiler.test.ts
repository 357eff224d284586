import { isVdError } from "@vd/kernels-native";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createProfiler } from "../src/index";
import { FakeClock } from "./support/clock";
import { allNodes, nodeAt, sumOf } from "./support/nodes";

const tick = () => new Promise((resolve) => setImmediate(resolve));

function errorOf(body: () => unknown) {
  try {
    body();
  } catch (error) {
    if (isVdError(error)) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("scopes", () => {
  it("return what their body returns, now or later", async () => {
    const profiler = createProfiler();
    expect(profiler.scope("now", () => 5)).toBe(5);
    expect(await profiler.scope("later", async () => tick().then(() => 6))).toBe(6);
    expect(profiler.report().scopes.map(({ name, count }) => [name, count])).toEqual([
      ["now", 1],
      ["later", 1],
    ]);
  });

  it("nest by asynchronous calls, not by time", async () => {
    const profiler = createProfiler();
    const work = (name: string) =>
      profiler.scope(name, async () => {
        await tick();
        await profiler.scope("inner", tick);
        await tick();
        profiler.scope("last", () => undefined);
      });
    await profiler.scope("all", () => Promise.all([work("a"), work("b"), work("c")]));
    const report = profiler.report();
    for (const name of ["a", "b", "c"])
      expect(nodeAt(report, "all", name).children.map((node) => node.name)).toEqual(["inner", "last"]);
    expect(report.scopes.map(({ name }) => name)).toEqual(["all"]);
    expect(sumOf(report, (node) => node.sharePercent) + report.outsidePercent).toBeCloseTo(100, 6);
  });

  it("add up times by path and count every entry", () => {
    const clock = new FakeClock();
    const profiler = createProfiler({ nowUs: clock.now });
    profiler.scope("outer", () => {
      for (const us of [10, 20, 30]) profiler.scope("inner", () => clock.advance(us));
      clock.advance(40);
    });
    expect(nodeAt(profiler.report(), "outer")).toMatchObject({ count: 1, totalUs: 100, selfUs: 40, sharePercent: 40 });
    expect(nodeAt(profiler.report(), "outer", "inner")).toMatchObject({ count: 3, totalUs: 60, selfUs: 60 });
  });

  it("that throw are recorded and marked, with the spans they left open", async () => {
    const profiler = createProfiler();
    const failing = () =>
      profiler.scope("bad", () => {
        profiler.span("left open");
        throw new Error("no luck");
      });
    expect(failing).toThrow("no luck");
    await expect(profiler.scope("worse", () => tick().then(() => Promise.reject(new Error("later"))))).rejects.toThrow(
      "later",
    );
    const report = profiler.report();
    expect(nodeAt(report, "bad")).toMatchObject({ count: 1, numFailed: 1, error: "no luck" });
    expect(nodeAt(report, "bad", "left open")).toMatchObject({ count: 1, numFailed: 1 });
    expect(nodeAt(report, "worse")).toMatchObject({ numFailed: 1, error: "later" });
    expect(await profiler.render("txt")).toContain("bad (failed: no luck)");
  });

  it("of any shape: none is missing, shares add up to 100, self times to the wall time", () => {
    interface Tree {
      us: number;
      inner: Tree[];
    }
    const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.record({ us: fc.nat(1000), inner: fc.constant<Tree[]>([]) }),
        fc.record({ us: fc.nat(1000), inner: fc.array(tie("tree"), { maxLength: 3 }) }),
      ),
    }));
    fc.assert(
      fc.property(fc.array(tree, { minLength: 1, maxLength: 4 }), (trees) => {
        const clock = new FakeClock();
        const profiler = createProfiler({ nowUs: clock.now });
        let numScopes = 0;
        const play = ({ us, inner }: Tree): void =>
          profiler.scope(`scope ${numScopes++}`, () => {
            clock.advance(us);
            for (const each of inner) play(each);
          });
        for (const each of trees) play(each);
        const report = profiler.report();
        expect(allNodes(report.scopes)).toHaveLength(numScopes);
        expect(sumOf(report, (node) => node.selfUs)).toBeCloseTo(report.wallUs, 6);
        expect(report.wallUs).toBe(clock.us);
        const percent = sumOf(report, (node) => node.sharePercent) + report.outsidePercent;
        expect(percent).toBeCloseTo(report.wallUs > 0 ? 100 : 0, 6);
      }),
      { numRuns: 100 },
    );
  });
});

describe("spans", () => {
  it("last for the rest of their block and take in what is called there", async () => {
    const profiler = createProfiler();
    const work = async () => {
      using _outer = profiler.span("outer");
      await tick();
      {
        using _inner = profiler.span("inner");
        await tick();
      }
      await profiler.scope("after", tick);
    };
    await work();
    profiler.scope("outside", () => undefined);
    expect(nodeAt(profiler.report(), "outer").children.map(({ name }) => name)).toEqual(["inner", "after"]);
    expect(profiler.report().scopes.map(({ name }) => name)).toEqual(["outer", "outside"]);
  });

  it("may be ended by hand inside `using`, but not twice by hand", () => {
    const profiler = createProfiler();
    using span = profiler.span("x");
    span.end();
    const { code, message } = errorOf(() => span.end());
    expect(code).toBe("attr");
    expect(message).toBe(
      "[profiler] [x] expected a span that is open, got one that has ended. Call end() once for each span(), or leave it to `using`.",
    );
  });

  it("that are never ended are named by the scope that they are in, and by the report", () => {
    const profiler = createProfiler();
    expect(errorOf(() => profiler.scope("outer", () => void profiler.span("lost"))).message).toBe(
      '[profiler] [outer] expected every span to have ended, got "lost" still open. ' +
        "Write `using s = profiler.span(…)` or await profiler.scope(…), so that it ends on every path.",
    );
    expect(profiler.report().scopes).toHaveLength(1);
    const loose = profiler.span("loose");
    expect(errorOf(() => profiler.report()).message).toContain(
      '[profiler] expected every span to have ended, got "loose"',
    );
    loose.end();
    expect(profiler.report().scopes.map(({ name }) => name)).toEqual(["outer", "loose"]);
  });

  it("that end before one inside them name it", () => {
    const profiler = createProfiler();
    const outer = profiler.span("outer");
    profiler.span("inner");
    expect(errorOf(() => outer.end()).message).toContain('"inner" still open');
    expect(profiler.report().scopes.map(({ name }) => name)).toEqual(["outer"]);
  });
});

it("a scope needs a name", () => {
  expect(errorOf(() => createProfiler().scope("", () => 0)).message).toBe(
    '[profiler] expected a name of the scope, got ""',
  );
});
