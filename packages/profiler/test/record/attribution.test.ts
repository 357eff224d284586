import fc from "fast-check";
import { expect, it } from "vitest";
import { attribute } from "../../src/record/attribution";
import { Recorder } from "../../src/record/recorder";
import type { Span } from "../../src/record/recording";
import { FakeClock } from "../support/clock";

/** What happens next: time goes by, a scope opens in an open one (or in none), or any open one ends. */
const happening = fc.oneof(
  fc.record({ kind: fc.constant("wait" as const), us: fc.integer({ min: 0, max: 1000 }) }),
  fc.record({ kind: fc.constant("open" as const), outer: fc.nat(9) }),
  fc.record({ kind: fc.constant("end" as const), which: fc.nat(9) }),
);

function record(happenings: readonly (typeof happening extends fc.Arbitrary<infer T> ? T : never)[]): Recorder {
  const clock = new FakeClock();
  const recorder = new Recorder(clock.now);
  const open: Span[] = [];
  for (const each of happenings)
    if (each.kind === "wait") clock.advance(each.us);
    else if (each.kind === "open") open.push(recorder.start("x", open[each.outer]));
    else if (open.length > 0) recorder.end(open.splice(each.which % open.length, 1)[0]!);
  for (const span of open.reverse()) {
    clock.advance(5);
    recorder.end(span);
  }
  return recorder;
}

it("gives away exactly the wall time, whatever runs side by side and whatever outlasts what", () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 60 }), (happenings) => {
      const { edges } = record(happenings);
      const { selfUs, outsideUs, wallUs } = attribute(edges);
      const sum = [...selfUs.values()].reduce((total, us) => total + us, outsideUs);
      expect(sum).toBeCloseTo(wallUs, 6);
      expect(wallUs).toBe(edges.length === 0 ? 0 : edges[edges.length - 1]!.atUs - edges[0]!.atUs);
      for (const [span, us] of selfUs) {
        expect(us).toBeGreaterThanOrEqual(0);
        expect(us).toBeLessThanOrEqual(span.endUs! - span.startUs + 1e-9);
      }
    }),
    { numRuns: 300 },
  );
});

it("leaves an outer scope what its inner ones do not cover", () => {
  const clock = new FakeClock();
  const recorder = new Recorder(clock.now);
  const outer = recorder.start("outer", undefined);
  clock.advance(10);
  const inner = recorder.start("inner", outer);
  clock.advance(30);
  recorder.end(inner);
  clock.advance(2);
  recorder.end(outer);
  clock.advance(7);
  recorder.end(recorder.start("later", undefined));
  const { selfUs, outsideUs, wallUs } = attribute(recorder.edges);
  expect([selfUs.get(outer), selfUs.get(inner), outsideUs, wallUs]).toEqual([12, 30, 7, 49]);
});

it("shares the time between scopes that run side by side", () => {
  const clock = new FakeClock();
  const recorder = new Recorder(clock.now);
  const outer = recorder.start("outer", undefined);
  const [a, b] = [recorder.start("a", outer), recorder.start("b", outer)];
  clock.advance(10);
  recorder.end(a);
  clock.advance(4);
  recorder.end(b);
  recorder.end(outer);
  const { selfUs } = attribute(recorder.edges);
  expect([selfUs.get(outer), selfUs.get(a), selfUs.get(b)]).toEqual([0, 5, 9]);
});
