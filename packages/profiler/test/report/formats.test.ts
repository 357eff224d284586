import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Device, isVdError } from "@vd/kernels-native";
import { type Graph, layoutGraph, Plan } from "@vd/tensor";
import { Ajv } from "ajv";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createProfiler, type Profiler, type Trace } from "../../src/index";

let profiler: Profiler;
beforeAll(async () => {
  profiler = createProfiler({ ceilings: { bytesPerUs: 1000, flopsPerUs: { f32: 2000 }, source: "<given>" } });
  const build = (g: Graph) => {
    const weight = g.constant(new Float32Array(32 * 32).fill(0.5), [32, 32]);
    g.output("y", g.linear({ name: "a.0.b<c>", x: g.input("x", [1, 1, 64, 32]), weight }));
  };
  const run = (name: string) =>
    profiler.scope(name, async () => {
      const plan = await Plan.load(Device.cpu({ threads: 1 }), layoutGraph(build), { observer: profiler });
      await plan.run();
      plan.freeSync();
    });
  await profiler.scope("all", () => Promise.all([run("step 1"), run("step 2")]));
  expect(() =>
    profiler.scope("bad & worse", () => {
      throw new Error("<oops>");
    }),
  ).toThrow();
});

const schema = (name: string) =>
  JSON.parse(readFileSync(fileURLToPath(new URL(`../../schema/${name}.schema.json`, import.meta.url)), "utf8"));

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "vd-profiler-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe("JSON", () => {
  it("follows the published schema, which refuses other things", async () => {
    const validate = new Ajv({ allErrors: true }).compile(schema("report"));
    const report = JSON.parse(await profiler.render("json"));
    validate(report);
    expect(validate.errors).toBeNull();
    expect(validate({ ...report, wallUs: -1 })).toBe(false);
    expect(validate({ ...report, scopes: [{ ...report.scopes[0], selfUs: "5" }] })).toBe(false);
    const { rows: _rows, ...partial } = report;
    expect(validate(partial)).toBe(false);
  });
});

describe("trace", () => {
  it("follows the schema of the trace event format", async () => {
    const validate = new Ajv({ allErrors: true }).compile(schema("trace"));
    const trace = JSON.parse(await profiler.render("trace"));
    validate(trace);
    expect(validate.errors).toBeNull();
    expect(validate({ traceEvents: [{ name: "x", ph: "X" }] })).toBe(false);
  });

  it("has every scope and row, and nests the events of each thread", async () => {
    const { traceEvents } = JSON.parse(await profiler.render("trace")) as Trace;
    const durations = traceEvents.filter(({ ph }) => ph === "X");
    for (const name of ["all", "step 1", "step 2", "load", "run", "a.0", "b<c>", "free", "bad & worse"])
      expect(durations.map((event) => event.name)).toContain(name);
    expect(traceEvents.some(({ ph }) => ph === "C")).toBe(true);
    for (const tid of new Set(durations.map((event) => event.tid))) {
      const open: number[] = [];
      for (const { ts, dur } of durations.filter((event) => event.tid === tid)) {
        while (open.length > 0 && open[open.length - 1]! <= ts! + 1e-6) open.pop();
        if (open.length > 0) expect(ts! + dur!).toBeLessThanOrEqual(open[open.length - 1]! + 1e-6);
        open.push(ts! + dur!);
      }
    }
  });
});

describe("text", () => {
  it("tells of the whole, of bottlenecks, scopes, ops and rows", async () => {
    const text = await profiler.render("txt");
    expect(text).toMatch(/^wall time [\d.]+ m?s, outside every scope .* %\)\ndevice {4}cpu, 1 thread, planned memory/);
    expect(text).toContain("ceilings  1.00 GB/s, 2.00 GFLOP/s f32; <given>");
    expect(text).toMatch(/\n1\. .*: .*, [\d.]+ %\n {3}\S/);
    expect(text).toMatch(/\n {2}all 2 steps +2 /);
    expect(text).toMatch(/\nlinear +2 /);
    expect(text).toMatch(/plan: a\.0\.b<c> +linear +f32\[1,1,64,32\]/);
  });
});

describe("HTML", () => {
  it("is one page that loads nothing and runs nothing", async () => {
    const html = await profiler.render("html");
    expect(html).toMatch(/^<!doctype html>/);
    const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"|url\(([^)]*)\)|@import/g)].map(([all]) => all);
    expect(addresses).toEqual(['href="data:,"']);
    expect(html).not.toMatch(/<script/i);
    expect(html).toContain("prefers-color-scheme: dark");
  });

  it("has flame charts, a roofline, memory over time and tables, and escapes names", async () => {
    const html = await profiler.render("html");
    for (const label of ["Flame chart of everything", "Roofline", "Planned memory over time"])
      expect(html.match(new RegExp(`aria-label="${label}`, "g"))).toHaveLength(2);
    expect(html).toContain("b&lt;c&gt; (linear)");
    expect(html).toContain("bad &amp; worse");
    expect(html).toContain("failed: &lt;oops&gt;");
    expect(html).not.toMatch(/<oops>|<c>|NaN|undefined/);
  });
});

describe("write", () => {
  it.each(["html", "json", "trace", "txt"] as const)("puts a .%s file in place, whole", async (format) => {
    const folder = temporaryFolder();
    await profiler.write(join(folder, `profile.${format}`));
    expect(readdirSync(folder)).toEqual([`profile.${format}`]);
    expect(readFileSync(join(folder, `profile.${format}`), "utf8")).toBe(await profiler.render(format));
  });

  it("refuses other endings and places that take no file", async () => {
    const failure = async (path: string) => {
      const error = await profiler.write(path).catch((caught: unknown) => caught);
      if (!isVdError(error)) throw error;
      return error;
    };
    expect((await failure("profile.pdf")).message).toBe(
      '[profiler] expected a file name that ends in .html, .json, .trace, .txt, got "profile.pdf". Name it, for example, profile.html.',
    );
    const missing = join(temporaryFolder(), "none", "p.txt");
    expect((await failure(missing)).code).toBe("io");
    expect(existsSync(missing)).toBe(false);
  });
});

it("an empty profile has all formats too", async () => {
  const empty = createProfiler();
  expect(empty.report()).toMatchObject({ wallUs: 0, scopes: [], rows: [], memory: [], ceilings: null });
  expect(await empty.render("html")).toContain("No rows were run.");
  expect(await empty.render("txt")).toContain("Nothing was recorded.");
});
