import { openDevice } from "@vd/kernels-native";
import { describe, expect, it } from "vitest";
import { compile } from "../src/plan/plan";
import { CpuGenerator } from "../src/random/cpu-generator";

/** Rows that fill tiles, and one more. */
const ROWS = 25;
const OUT = 64;

const KINDS = [
  { name: "a bias", act: "none", residual: false },
  { name: "a residual", act: "none", residual: true },
  { name: "gates", act: "geglu", residual: false },
  { name: "another activation", act: "silu", residual: false },
] as const;

describe.each(["plain", "avx2", "avx512", "best"])("linear on %s", (isa) => {
  const device = openDevice("cpu", { isa, threads: 2 });

  // 300 are several chains of sums.
  it.each(KINDS.flatMap((kind) => [64, 300].map((depth) => ({ ...kind, depth }))))(
    "gives rows with $name the same bits, $depth deep, alone and in whole tiles",
    async ({ act, residual, depth }) => {
      const draw = new CpuGenerator(7);
      const width = act === "geglu" ? 2 * OUT : OUT;
      const [x, weight, bias] = [draw.randn(ROWS * depth), draw.randn(width * depth), draw.randn(width)];
      const added = draw.randn(ROWS * OUT);
      const run = async (first: number, count: number) => {
        const plan = await compile(device, (g) => {
          const call = {
            x: g.input("x", [1, 1, count, depth]),
            weight: g.constant(weight, [width, depth]),
            bias: g.constant(bias, [width]),
            ...(residual ? { residual: g.input("residual", [1, 1, count, OUT]), outScale: 0.5 } : {}),
          };
          g.output("y", g.linear({ ...call, act }));
        });
        plan.writeSync("x", x.slice(first * depth, (first + count) * depth));
        if (residual) plan.writeSync("residual", added.slice(first * OUT, (first + count) * OUT));
        await plan.run();
        const y = plan.readSync("y");
        await plan.free();
        return y;
      };
      const whole = await run(0, ROWS);
      for (const row of [0, 7, ROWS - 1]) expect(await run(row, 1)).toEqual(whole.slice(row * OUT, (row + 1) * OUT));
    },
  );
});
