import { expect, test } from "vitest";
import { PrecisionController } from "../../src/session/precision-controller";
import { fakeSession } from "../support/fake-session";

test("takes the most precise element type that fits, and tries a more precise one again after a while", () => {
  const controller = new PrecisionController(["float32", "float16", "bfloat16"], 0.8);
  const cost = { float32: 30, float16: 9, bfloat16: 3 };
  const frame = (deadlineMs: number, steps = 1) => {
    const chosen = controller.next(steps, deadlineMs);
    controller.observe(steps, steps * cost[chosen]);
    return chosen;
  };
  expect(frame(100)).toBe("float32");
  expect(frame(40)).toBe("float32");
  expect([frame(20), frame(20), frame(20)]).toEqual(["float16", "float16", "float16"]);
  // Two steps take twice the time.
  expect([frame(20, 2), frame(20, 2)]).toEqual(["bfloat16", "bfloat16"]);
  expect(frame(1)).toBe("bfloat16");
  // Time has become plenty: known times fit at once.
  expect(frame(40)).toBe("float32");
  // Frames have become faster, which only a try tells.
  cost.float32 = 5;
  expect(frame(20)).toBe("float16");
  const chosen = Array.from({ length: 310 }, () => frame(20));
  expect(chosen.slice(0, 298).every((each) => each === "float16")).toBe(true);
  expect(chosen.slice(-5).every((each) => each === "float32")).toBe(true);
});

test("a session asks for the element type that fits, and counts it", async () => {
  const { session, clock, made, readAll } = fakeSession({
    adaptive: { precisions: ["float32", "float16"] },
    cost: ({ precision }) => (precision === "float32" ? 9 : 3),
  });
  const reading = readAll();
  await clock.advance(35);
  expect(made.map(({ precision }) => precision)).toEqual(["float32", "float16", "float16", "float16"]);
  expect(session.stats().precisions).toEqual({ float32: 1, float16: 3 });
  await session.close();
  await reading;
});
