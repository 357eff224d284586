import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { dtypeIndex } from "@vd/kernels-native/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gencode, TEMPLATE_FLAGS, TEMPLATE_TARGETS, templateSources } from "../../../tooling/build/cubins/sources.mjs";
import { plain } from "../contract/reference";
import reference from "../ops/elementwise/elementwise.reference";
import {
  ELEMENTWISE_BINARY,
  ELEMENTWISE_CONSTANTS,
  ELEMENTWISE_INSTRUCTIONS,
  ELEMENTWISE_MAX_DEPTH,
  ELEMENTWISE_MAX_LENGTH,
  ELEMENTWISE_OPERANDS,
  ELEMENTWISE_UNARY,
  type ElementwiseInstruction,
} from "../ops/elementwise/instructions";
import { evaluatePtx } from "./kernel-templates/evaluate-ptx";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const compiler = process.env.CXX ?? "g++";
const isThere = (program: string) => spawnSync(program, ["--version"]).status === 0;
const ARCHITECTURES = ["sm_75", "sm_80", "sm_89", "sm_90a"];
const TYPES = ["f32", "f16", "bf16"] as const;

type Program = readonly ElementwiseInstruction[];
type DType = (typeof TYPES)[number];

/** Numbers below 1, the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A valid program as long as programs are. */
function randomProgram(seed: number): Program {
  const random = randomNumbers(seed);
  const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)]!;
  const program: ElementwiseInstruction[] = [];
  let depth = 0;
  while (program.length + depth < ELEMENTWISE_MAX_LENGTH) {
    const kind = random();
    if (
      depth === 0 ||
      (kind < 0.45 && depth < ELEMENTWISE_MAX_DEPTH && program.length + depth + 2 <= ELEMENTWISE_MAX_LENGTH)
    ) {
      program.push(pick([...ELEMENTWISE_OPERANDS, ...ELEMENTWISE_CONSTANTS]));
      depth++;
    } else if (kind < 0.7 && depth > 1) {
      program.push(pick(ELEMENTWISE_BINARY));
      depth--;
    } else {
      program.push(pick(ELEMENTWISE_UNARY));
    }
  }
  while (depth-- > 1) program.push(pick(ELEMENTWISE_BINARY));
  return program;
}

const EVERY_FUNCTION: readonly Program[] = [
  ...ELEMENTWISE_UNARY.map((name): Program => ["a", name]),
  ...ELEMENTWISE_BINARY.map((name): Program => ["b", "k2", name]),
  ["a"],
  ["k1", "k0", "sub"],
  ["d", "a", "b", "c", "sub", "div", "sub"],
  ["a", "a", "mul", "b", "add", "a", "mul"],
];
const RANDOM = Array.from({ length: 40 }, (_, i) => randomProgram(i + 1));

/** The lines of the first of the eight expressions in a kernel's text, without the braces around them. */
function firstExpression(text: string): string[] {
  const lines = text.split("\n");
  const begin = lines.findIndex((line) => line.startsWith(".reg .f32 %value"));
  let depth = 1;
  const length = lines.slice(begin).findIndex((line) => {
    depth += Number(line === "{") - Number(line === "}");
    return depth === 0;
  });
  return lines.slice(begin, begin + length);
}

/** What a program makes of operands a to d and constants k0 to k3, in float64. */
function expectedOf(program: Program, operands: readonly number[], constants: readonly number[]): number {
  const call = {
    list: () => constants,
    words: () => program,
    operand: (name: string) => plain([1, 1, 1, 1], () => operands["abcd".indexOf(name)]!),
  };
  return reference(call as unknown as Parameters<typeof reference>[0]).y!.data[0]!;
}

describe.skipIf(!isThere(compiler) || !isThere("nvcc"))(
  "kernels of expressions (needs nvcc and a C++ compiler)",
  () => {
    let folder = "";

    /** The texts of kernels that programs become, from a text for an architecture. */
    function complete(dtype: DType, programs: readonly Program[], target = "ptx80"): string[] {
      const input = programs.map((program) =>
        [dtypeIndex(dtype), ...program.map((name) => ELEMENTWISE_INSTRUCTIONS.indexOf(name))].join(" "),
      );
      const args = [join(folder, `${target}.ptx`), folder];
      const { status, stderr } = spawnSync(join(folder, "complete"), args, {
        input: input.join("\n"),
        encoding: "utf8",
      });
      if (status !== 0) throw new Error(stderr);
      return programs.map((_, i) => readFileSync(join(folder, `${i}.ptx`), "utf8"));
    }

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "vd-kernel-templates-"));
      const run = promisify(execFile);
      const [source] = templateSources() as [string];
      const native = (path: string) => here(`../native/cuda/${path}`);
      const sources = [
        here("kernel-templates/main.cc"),
        here("../ops/elementwise/elementwise.cuda.cc"),
        ...["planning/kernel_templates.cc", "planning/reason.cc", "planning/candidates.cc"].map(native),
      ];
      await Promise.all([
        ...TEMPLATE_TARGETS.map((target) =>
          run("nvcc", [...TEMPLATE_FLAGS, gencode(target), source, "-o", join(folder, `${target}.ptx`)]),
        ),
        run(compiler, ["-std=c++20", "-o", join(folder, "complete"), ...sources]),
      ]);
    }, 300_000);
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    test("have loads before arithmetic, an expression for each of eight elements, and call nothing", () => {
      const texts = complete("f16", [
        ["a", "b", "sub", "c", "mul", "tanh", "k0", "add"],
        ["k0"],
        ["a", "b", "c", "d", "add", "add", "add"],
      ]);
      for (const [i, numOperands] of [3, 0, 4].entries()) {
        const text = texts[i]!;
        expect(text.match(/\.entry \w+/g)).toEqual([`.entry elementwise_f16_compiled${numOperands}`]);
        expect(text).not.toMatch(/VD_EXPRESSION|\bcall\b|\.func|\.local|st\.param/);
        // A product or sum that says how it is rounded is not joined with another.
        expect(text).not.toMatch(/\b(add|sub|mul)\.f32/);
        const places = text.split(/^\{\n\.reg \.f32 %value</m);
        expect(places).toHaveLength(9);
        expect(places[0]!.match(/ld\.global\.nc\.v4/g) ?? []).toHaveLength(numOperands);
        expect(places.slice(1).join("")).not.toContain("ld.global");
      }
    });

    test.each(TYPES)("of %s compute what the reference does", (dtype) => {
      const programs = [...EVERY_FUNCTION, ...RANDOM];
      const [operands, constants] = [
        [0.75, 2.125, 0.3125, 1.5],
        [0.5, 3.25, 1.75, 0.125],
      ];
      const wrong = complete(dtype, programs).flatMap((text, i) => {
        const block = firstExpression(text);
        // Operands are renamed in the order of their first appearance, and so are constants.
        const named = (names: readonly string[], values: readonly number[]) => {
          const used = [...new Set(programs[i]!)].filter((name) => names.includes(name));
          return [0, 1, 2, 3].map((at) => (used[at] === undefined ? 0 : values[names.indexOf(used[at])]!));
        };
        const values = [...named(ELEMENTWISE_OPERANDS, operands), ...named(ELEMENTWISE_CONSTANTS, constants)];
        const inputs = block.slice(1, 9).map((line) => /, (%\w+);/.exec(line)![1]!);
        const registers = Object.fromEntries(inputs.map((name, at) => [name, values[at]!]));
        const got = evaluatePtx(block, registers, /^mov\.f32 (%\w+)/.exec(block.at(-1)!)![1]!);
        const wanted = expectedOf(programs[i]!, operands, constants);
        const isClose =
          Math.abs(got - wanted) <= 2e-3 * Math.max(1, Math.abs(wanted)) || (Number.isNaN(got) && Number.isNaN(wanted));
        return isClose || Math.abs(wanted) > 1e30 ? [] : [`${programs[i]!.join(" ")}: ${got}, not ${wanted}`];
      });
      expect(wrong).toEqual([]);
    });

    test.each(ARCHITECTURES)(
      "are assembled for %s without a stack",
      async (architecture) => {
        const target = architecture === "sm_75" ? "ptx75" : "ptx80";
        const everything = TYPES.flatMap((dtype) => {
          const programs: Program[] = [
            ...RANDOM.slice(0, 2),
            ["a", ...ELEMENTWISE_UNARY],
            ["a", "b", "div", "c", "min", "d", "max", "k0", "sub"],
          ];
          return complete(dtype, programs, target);
        });
        const reports = everything.map((text, i) => {
          const path = join(folder, `whole-${i}.ptx`);
          writeFileSync(path, text);
          const words = ["-cubin", `-arch=${architecture}`, "-Xptxas=-v", "-o", join(folder, "out.cubin"), path];
          const { status, stderr } = spawnSync("nvcc", words, { encoding: "utf8" });
          return status === 0 ? stderr : `failed: ${stderr}`;
        });
        for (const report of reports)
          expect(report).toContain("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads");
      },
      120_000,
    );
  },
);
