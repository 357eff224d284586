import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { checkLayers } from "../../check/layers/check";
import { readIncludes } from "../../check/layers/includes";
import { readSource } from "../../check/layers/source-file";
import { bundledProgram } from "../../testing/program";

/** What is wrong with a project of these files, as `file:line: message`. */
function check(files: Readonly<Record<string, string>>): string[] {
  const folder = mkdtempSync(join(tmpdir(), "vd-layers-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return checkLayers(folder).map(({ file, line, message }) => `${file}:${line}: ${message}`);
}

const tensor = "packages/tensor/src";

test("imports may go down or stay", () => {
  const files = {
    "packages/kernels-native/src/index.ts": "export const a = 1;",
    "packages/kernels-native/contract/index.ts": "export const c = 1;",
    [`${tensor}/index.ts`]: 'export * from "./graph"; export * from "./nn/index";',
    [`${tensor}/graph.ts`]:
      'import { a } from "@vd/kernels-native"; import type { c } from "@vd/kernels-native/contract";',
    [`${tensor}/nn/index.ts`]: 'import "../graph"; export * from "./conv";',
    [`${tensor}/nn/conv.ts`]: 'import { readFileSync } from "node:fs"; import sharp from "sharp";',
    "packages/svd-pipeline/src/models/unet.ts": 'import { graph } from "@vd/tensor";',
    "packages/svd-pipeline/src/index.ts": 'export * from "./models/unet"; import "@vd/vae-opt";',
    "packages/vae-opt/src/index.ts": 'import "@vd/tensor";',
    "apps/generate/src/cli.ts": 'import "@vd/svd-pipeline"; import "@vd/kernels-native";',
    "apps/bench/src/index.ts": "",
    "packages/conformance/src/index.ts": 'import "@vd/tensor"; import "@vd/kernels-native/cases";',
    "tooling/anything.ts": `import "@vd/tensor"; import "@vd/bench"; import "./goldens/b"; process.env.ANY;`,
    "tooling/generate/ops.ts": 'import "../../../packages/kernels-native/contract/index";',
    "packages/tensor/test/a.test.ts": `import "../src/graph"; import "../../../tooling/anything"; import "@vd/conformance"; process.env.PATH;`,
  };
  expect(check(files)).toEqual([]);
});

test.each([
  [`${tensor}/graph.ts`, "./nn/conv", "from layer 3 (tensor) to layer 4 (nn)"],
  [`${tensor}/weights/fold.ts`, "../index", "from layer 3 (tensor) to layer 4 (nn)"],
  ["packages/kernels-native/src/device.ts", "@vd/tensor", "from layer 2 (op) to layer 4 (nn)"],
  ["packages/kernels-native/ops/conv/conv.op.ts", "@vd/tensor", "from layer 2 (op) to layer 4 (nn)"],
  ["packages/kernels-native/test/fuzz.test.ts", "@vd/tensor", "from layer 2 (op) to layer 4 (nn)"],
  ["packages/vae-opt/src/vae.ts", "@vd/svd-pipeline", "from layer 5 (model) to layer 6 (pipeline)"],
  ["packages/svd-pipeline/src/models/unet.ts", "../generate", "from layer 5 (model) to layer 6 (pipeline)"],
  ["packages/svd-pipeline/src/generate.ts", "@vd/tensorrt", "from layer 6 (pipeline) to layer 6.5 (tensorrt)"],
  [`${tensor}/eager.ts`, "@vd/profiler", "from layer 3 (tensor) to layer 4.5 (profiler)"],
  [`${tensor}/nn/conv.ts`, "@vd/conformance", "from layer 4 (nn) to layer 4.5 (conformance)"],
])("%s may not import %s", (file, specifier, where) => {
  const target = {
    [`${tensor}/nn/conv.ts`]: "",
    [`${tensor}/index.ts`]: "",
    "packages/svd-pipeline/src/generate.ts": "",
  };
  for (const statement of [
    `import "${specifier}";`,
    `import type { T } from "${specifier}";`,
    `export * from "${specifier}";`,
  ])
    expect(check({ ...target, [file]: `const a = 1;\n${statement}` })).toEqual([
      `${file}:2: "${specifier}" goes up: ${where}`,
    ]);
  expect(check({ ...target, [file]: `// import "${specifier}";\nconst text = 'import "${specifier}"';` })).toEqual([]);
});

test("layers of one rank stand beside each other", () => {
  const files = { "packages/media/src/index.ts": "", "packages/hub/src/a.ts": 'import "@vd/media";' };
  expect(check(files)).toEqual([
    'packages/hub/src/a.ts:1: "@vd/media" goes sideways: from layer 4.5 (hub) to layer 4.5 (media)',
  ]);
});

test("every package has a layer", () => {
  expect(check({ "packages/new/src/b.ts": "", "packages/new/src/a.ts": "" })).toEqual([
    expect.stringMatching(/^packages\/new\/src\/\w.ts:1: packages\/new has no layer: give it one in /),
  ]);
});

test("packages are imported by name", () => {
  const files = { "packages/vae-opt/src/a.ts": 'import "../../tensor/src/graph";', [`${tensor}/graph.ts`]: "" };
  expect(check(files)).toEqual([
    'packages/vae-opt/src/a.ts:1: "../../tensor/src/graph" leaves packages/vae-opt: import the package by its name',
  ]);
  const upwards = { "packages/tensor/src/a.ts": 'import "../../../tooling/x";', "tooling/x.ts": "" };
  expect(check(upwards)).toEqual([
    'packages/tensor/src/a.ts:1: "../../../tooling/x" leaves packages/tensor: import the package by its name',
  ]);
});

test("tooling imports packages and apps by name, but for generators; nothing imports their tests", () => {
  const tooling = {
    "tooling/a.ts": 'import "../packages/tensor/src/nn/conv";\nimport type { A } from "../apps/generate/src/cli";',
    "tooling/measure/b.mjs": 'await import("../../packages/tensor/test/ops.test");',
    "tooling/generate/c.ts": 'import "../../packages/tensor/test/support/failure";',
  };
  const rest = "import what it exports by its name";
  expect(
    check({ ...tooling, "packages/tensor/test/ops.test.ts": "", "packages/tensor/test/support/failure.ts": "" }),
  ).toEqual([
    `tooling/a.ts:1: "../packages/tensor/src/nn/conv" reaches into packages/tensor: ${rest}`,
    `tooling/a.ts:2: "../apps/generate/src/cli" reaches into apps/generate: ${rest}`,
    `tooling/generate/c.ts:1: "../../packages/tensor/test/support/failure" reaches into packages/tensor: ${rest}`,
    `tooling/measure/b.mjs:1: "../../packages/tensor/test/ops.test" reaches into packages/tensor: ${rest}`,
  ]);
});

test("files may not import each other in a circle, types aside", () => {
  const files = {
    [`${tensor}/a.ts`]: 'import { b } from "./b";',
    [`${tensor}/b.ts`]: 'export * from "./c";',
    [`${tensor}/c.ts`]: 'const a = await import("./a");',
    [`${tensor}/d.ts`]: 'import "./a"; import "./d2";',
    [`${tensor}/d2.ts`]: 'import type { D } from "./d"; type E = import("./d").E;',
  };
  expect(check(files)).toEqual([`${tensor}/a.ts:1: imports itself by way of ${tensor}/b.ts, ${tensor}/c.ts`]);
  expect(check({ "tooling/self.ts": 'import "./self";' })).toEqual([
    "tooling/self.ts:1: imports itself by way of nothing",
  ]);
});

test("the environment is read in three places, and by apps for what terminals and CI say", () => {
  const files = {
    "packages/kernels-native/src/env.ts": "process.env.VD_THREADS;",
    "packages/hub/src/client/environment.ts": "export const all = process.env;",
    "apps/generate/src/bar.ts": 'process.env.NO_COLOR || process.env["CI"];',
    "apps/generate/src/run.ts": "\nprocess.env.HF_TOKEN;",
    [`${tensor}/a.ts`]: "// process.env.A\nconst { B } = process.env;",
    [`${tensor}/b.ts`]: 'import { env as e } from "node:process";',
    [`${tensor}/c.ts`]: 'process.env["C"];',
  };
  const [last, ...others] = ["apps/studio/src/environment.ts", "packages/hub/src/client/environment.ts"];
  const rule = `only ${["packages/kernels-native/src/env.ts", ...others, last].join(" and ")} may`;
  expect(check(files)).toEqual([
    `apps/generate/src/run.ts:2: reads process.env.HF_TOKEN: ${rule}`,
    `${tensor}/a.ts:2: reads process.env: ${rule}`,
    `${tensor}/b.ts:1: reads process.env: ${rule}`,
    `${tensor}/c.ts:1: reads process.env.C: ${rule}`,
  ]);
});

test("a source's imports are found whatever their form", () => {
  const text = `import a, { type B } from "one";
import type { C } from "two";
export { d } from "three";
export type { E } from "four";
const f = require("five"), g = await import("six");
let h: import("seven").H;
import.meta.resolve("not this");`;
  expect(readSource("a.ts", text).imports.map(({ line, text, typeOnly }) => [line, text, typeOnly])).toEqual([
    [1, "one", false],
    [2, "two", true],
    [3, "three", false],
    [4, "four", true],
    [5, "five", false],
    [5, "six", false],
    [6, "seven", true],
  ]);
});

const native = "packages/kernels-native/native";
const ops = "packages/kernels-native/ops";
const device = "packages/kernels-native/device";

/** Files of every part of the native code, which include nothing. */
const NATIVE = Object.fromEntries(
  [
    ...["generated/op_args.h", "core/error.h", "core/memory.h", "driver/device.h", "cpu/panels.h", "cuda/stream.h"],
    ...["cuda/planning/packs.h", "binding/wrap.h"],
  ]
    .map((name) => [`${native}/${name}`, ""])
    .concat([`${ops}/conv/conv.cuh`, `${ops}/conv/cpu/conv.h`, `${device}/pack.h`].map((path) => [path, ""])),
);
const including = (...names: string[]) => names.map((name) => `#include "${name}"\n`).join("");

test("native code may include what lies below it", () => {
  const files = {
    ...NATIVE,
    [`${native}/driver/device.cc`]: `${including("device.h", "../core/error.h")}#include <dlfcn.h>\n`,
    [`${native}/core/memory.cc`]: including("memory.h", "error.h", "../generated/op_args.h"),
    [`${native}/cpu/backend.cc`]: including("panels.h", "../core/memory.h", "../driver/device.h"),
    [`${native}/cuda/planning/packs.cc`]: including("packs.h", "../../core/memory.h", "../../../device/pack.h"),
    [`${native}/cuda/backend.cc`]: including("stream.h", "planning/packs.h"),
    [`${native}/binding/addon.cc`]: including("wrap.h", "../cpu/panels.h", "../cuda/stream.h"),
    [`${native}/generated/planners.h`]: including("../../ops/conv/cpu/conv.h"),
    [`${device}/pack.cuh`]: including("pack.h", "../native/generated/op_args.h", "../native/core/error.h"),
    [`${ops}/conv/conv.cu`]: including("conv.cuh", "../../device/pack.h"),
    [`${ops}/conv/conv.cuda.cc`]: including("cpu/conv.h", "../../native/cuda/planning/packs.h"),
    [`${ops}/conv/cpu/conv.cc`]: including("conv.h", "../../../native/cpu/panels.h"),
    "packages/kernels-native/test/planners/all.cc": including("../../native/binding/wrap.h"),
  };
  expect(check(files)).toEqual([]);
});

test.each([
  [`${native}/driver/a.cc`, "../core/memory.h", "is core: driver may include values, generated"],
  [`${native}/core/a.cc`, "../cpu/panels.h", "is cpu: core may include values, generated"],
  [`${native}/cpu/a.cc`, "../cuda/stream.h", "is cuda: cpu may include core, driver, values, generated"],
  [`${native}/cpu/a.cc`, "../../ops/conv/cpu/conv.h", "is op: cpu may include core, driver, values, generated"],
  [
    `${native}/cuda/a.cc`,
    "../cpu/panels.h",
    "is cpu: cuda may include planning, core, device, driver, values, generated",
  ],
  [
    `${native}/cuda/planning/a.cc`,
    "../stream.h",
    "is cuda: planning may include planners, core, device, values, generated",
  ],
  [`${native}/generated/a.h`, "../core/memory.h", "is core: generated may include values, op"],
  [`${device}/a.cuh`, "../native/core/memory.h", "is core: device may include values, generated"],
  [`${ops}/conv/a.cu`, "../../native/cuda/planning/packs.h", /^is planning: device code of an op may include device,/],
  [`${ops}/conv/a.cc`, "conv.cuh", /^is device code of an op: op may include cpu,/],
  [`${ops}/conv/a.cc`, "../../native/binding/wrap.h", /^is binding: op may include cpu,/],
  [`${ops}/linear/cpu/a.cc`, "../../conv/cpu/conv.h", "is another op's: ops/linear may not include it"],
  [`${native}/core/a.cc`, "no_such.h", "is no file of the native code"],
])("%s may not include %s", (file, name, message) => {
  const found = check({ ...NATIVE, [file]: `// first line\n${including(name)}` });
  expect(found).toHaveLength(1);
  expect(found[0]!.startsWith(`${file}:2: "${name}" `)).toBe(true);
  expect(found[0]!.slice(`${file}:2: "${name}" `.length)).toEqual(
    typeof message === "string" ? message : expect.stringMatching(message),
  );
});

test("a native file belongs to a part, and includes itself by no way", () => {
  const files = {
    [`${native}/extra/a.cc`]: "",
    [`${native}/core/a.h`]: including("b.h"),
    [`${native}/core/b.h`]: including("a.h"),
  };
  expect(check(files)).toEqual([
    `${native}/extra/a.cc:1: is in no part of the native code: tooling/check/layers/native-parts.ts names them`,
    `${native}/core/a.h:1: includes itself by way of ${native}/core/b.h`,
  ]);
});

test("includes are found in code, not in comments", () => {
  const text = `#include <vector>\n  #  include "one.h"\n// #include "two.h"\n/* a\n#include "three.h"\n*/ #include "four.h"`;
  expect(readIncludes(text)).toEqual([
    { line: 2, text: "one.h" },
    { line: 6, text: "four.h" },
  ]);
});

test("the command says what is wrong and where, and fails", async () => {
  const folder = mkdtempSync(join(tmpdir(), "vd-layers-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, tensor), { recursive: true });
  const program = await bundledProgram(fileURLToPath(new URL("../../check/layers/main.ts", import.meta.url)));
  const command = (root: string) => spawnSync(process.execPath, [program, root], { encoding: "utf8" });
  writeFileSync(join(folder, tensor, "a.ts"), 'import "./nn/b";');
  const bad = command(folder);
  expect([bad.status, bad.stdout]).toEqual([1, ""]);
  expect(bad.stderr).toBe(
    `${tensor}/a.ts:1: "./nn/b" goes up: from layer 3 (tensor) to layer 4 (nn)\ncheck-layers: rules broken in 1 place\n`,
  );
  writeFileSync(join(folder, tensor, "a.ts"), "");
  const good = command(folder);
  expect([good.status, good.stderr, good.stdout]).toEqual([
    0,
    "",
    "check-layers: imports and includes keep to their layers\n",
  ]);
});
