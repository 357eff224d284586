import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ROOT } from "../../build/workspace.mjs";
import { ACTIONS } from "../../release/actions.mjs";
import { actionOf, fillIn, orderedJobs } from "../../release/workflow.mjs";

const folder = mkdtempSync(join(tmpdir(), "vd workflow "));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, string>;
}
const release: { name: string; job: { steps: Step[] } }[] = orderedJobs(join(ROOT, ".github/workflows/release.yml"));

function workflow(text: string): string {
  const path = join(folder, "some.yml");
  writeFileSync(path, text);
  return path;
}

describe("the release workflow", () => {
  test("ends with publishing, after everything that it needs", () => {
    const names = release.map(({ name }) => name);
    expect(names.at(-1)).toBe("publish");
    expect(names).toEqual(expect.arrayContaining(["version", "device-code", "addon", "windows"]));
  });

  test("uses no action that the dry run has no stand-in for", () => {
    const used = release.flatMap(({ job }) => job.steps.flatMap((step) => actionOf(step) ?? []));
    expect(used.length).toBeGreaterThan(5);
    expect(used.filter((action) => !(action in ACTIONS))).toEqual([]);
  });

  test("downloads only what a job before has uploaded", () => {
    const made = new Set<string>();
    for (const { job } of release)
      for (const step of job.steps) {
        if (actionOf(step) === "actions/upload-artifact") made.add(step.with!.name!);
        if (actionOf(step) === "actions/download-artifact") expect(made).toContain(step.with!.name);
      }
    expect([...made].sort()).toEqual(["addons", "device-code"]);
  });
});

describe("workflows", () => {
  test("jobs come after those that they need; a circle or a stranger is an error", () => {
    const path = workflow("jobs: { b: { needs: a }, c: { needs: [a, b] }, a: {} }");
    expect(orderedJobs(path).map(({ name }: { name: string }) => name)).toEqual(["a", "b", "c"]);
    expect(() => orderedJobs(workflow("jobs: { a: { needs: b }, b: { needs: a } }"))).toThrow(/job a, needed by a, b/);
    expect(() => orderedJobs(workflow("jobs: { a: { needs: z } }"))).toThrow(/job z, needed by a/);
  });

  test("expressions are filled in, and unknown ones are an error", () => {
    const expression = (text: string) => `$\{{ ${text} }}`;
    expect(fillIn(`a ${expression("secrets.X")} b`, { "secrets.X": "1" })).toBe("a 1 b");
    expect(() => fillIn(expression("github.sha"), {})).toThrow("no value for the expression github.sha");
  });
});

describe("artifacts", () => {
  const context = { checkout: join(folder, "checkout"), artifacts: join(folder, "artifacts"), env: {} };
  const filesOf = (dir: string) =>
    readdirSync(dir, { recursive: true, encoding: "utf8" })
      .filter((name) => /\./.test(name))
      .sort();

  test("keep what patterns match, from the last folder before a wildcard on, and come back there", () => {
    for (const name of ["x/linux/a.node", "x/linux/b.json", "x/win/a.node", "x/win/c.obj", "y/d.json"]) {
      mkdirSync(dirname(join(context.checkout, name)), { recursive: true });
      writeFileSync(join(context.checkout, name), name);
    }
    const upload = ACTIONS["actions/upload-artifact"];
    const orNone = { "if-no-files-found": "warn" };
    upload({ name: "addons", path: "x/*/a.node\nx/*/b.json\n", ...orNone }, context);
    expect(filesOf(join(context.artifacts, "addons"))).toEqual(["linux/a.node", "linux/b.json", "win/a.node"]);
    upload({ name: "whole", path: "y", ...orNone }, context);
    ACTIONS["actions/download-artifact"]({ name: "addons", path: "z/here" }, context);
    expect(existsSync(join(context.checkout, "z/here/win/a.node"))).toBe(true);
    const none = { name: "none", path: "nowhere", "if-no-files-found": "error" };
    expect(() => upload(none, context)).toThrow("artifact none: no files for nowhere");
    expect(() => ACTIONS["actions/download-artifact"]({ name: "never", path: "." }, context)).toThrow(/no job before/);
  });
});
