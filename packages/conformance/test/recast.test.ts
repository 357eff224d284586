import { expect, test } from "vitest";
import { recast } from "../src/recast";

test("a case in another type keeps its shapes, and operands that have no such type stay", () => {
  const narrow = recast(
    "linear",
    { name: "plain", inputs: { x: [1, 1, 4, 8], weight: { dims: [8, 8], gap: 0 } } },
    "f16",
  );
  expect(narrow?.inputs).toEqual({
    x: { dims: [1, 1, 4, 8], dtype: "f16" },
    weight: { dims: [8, 8], gap: 0, dtype: "f16" },
  });
  const guide = recast("guide", { name: "plain", inputs: { x: [2, 3, 1, 1, 4], scale: [3] } }, "bf16");
  expect(guide?.inputs).toEqual({ x: { dims: [2, 3, 1, 1, 4], dtype: "bf16" }, scale: { dims: [3] } });
});

test("cases that say their types, and ops without such types, are left alone", () => {
  const said = { name: "weights f16", inputs: { x: [1, 1, 4, 8], weight: { dims: [8, 8], dtype: "f16" as const } } };
  expect(recast("linear", said, "bf16")).toBeUndefined();
  expect(recast("timestep_embedding", { name: "plain", inputs: { t: [1, 4] } }, "f16")).toBeUndefined();
});

test("results of operands in 8 bits take the type, their codes stay", () => {
  const inputs = { x: { dims: [1, 1, 4, 8], dtype: "i8" as const }, bias: [8] };
  const narrow = recast("linear_q8", { name: "plain", inputs }, "f16");
  expect(narrow).toMatchObject({ outType: "f16", inputs: { x: inputs.x, bias: { dims: [8], dtype: "f16" } } });
  expect(recast("linear_q8", { name: "plain", inputs, outType: "f16" }, "bf16")).toBeUndefined();
  expect(recast("quantize", { name: "plain", inputs: { x: [1, 1, 4, 8] }, outType: "i8" }, "f16")?.outType).toBe("i8");
});
