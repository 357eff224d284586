import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { findFixtures } from "../../goldens/fixture";
import type { Fixture, GoldenKind, TensorCheck } from "../../goldens/kind";
import { findKind, loadKinds } from "../../goldens/kinds/index";
import NOT_CHECKED from "../../goldens/not-checked.json";
import { formatJson, formatResult, formatSummary } from "../../goldens/report";
import { runFixture, severity } from "../../goldens/run-fixture";
import { committed, FixtureFolder } from "./fixture-folder";

const folder = new FixtureFolder();
afterAll(() => folder.remove());
const context = { device: "cpu", dtype: "float32" } as const;

function check(name: string, error: number, tolerance: number, over: Partial<TensorCheck> = {}): TensorCheck {
  return { name, metric: "maxabs", error, tolerance, ok: error <= tolerance, ...over };
}

function kindOf(checks: TensorCheck[], failure?: Error): GoldenKind {
  return {
    kind: "made",
    async *run() {
      yield* checks;
      if (failure) throw failure;
    },
  };
}

const made = folder.tiny("kinds/made", { kind: "made" });

test("a pass names the tensor that came nearest to its tolerance", async () => {
  const checks = [check("out.a", 1e-6, 1e-3), check("out.b", 1e-5, 2e-5), check("out.c", 0, 0, { metric: "exact" })];
  const result = await runFixture(made, [kindOf(checks)], context);
  expect(result).toMatchObject({ status: "pass", label: "kinds/made", numChecks: 3, worst: { name: "out.b" } });
  expect(formatResult(result)).toMatch(
    /^pass +kinds\/made +worst out\.b maxabs 1\.00e-5 \(tolerance 2\.00e-5\), 3 tensors/,
  );
});

test("a failure names the first diverging tensor and the worst", async () => {
  const checks = [
    check("out.a", 0, 1),
    check("out.b", 2, 1),
    check("out.c", Number.NaN, 1, { note: "length 3 for 4" }),
  ];
  const result = await runFixture(made, [kindOf(checks)], context);
  expect(result).toMatchObject({
    status: "fail",
    numFailures: 2,
    worst: { name: "out.c" },
    firstFailure: { name: "out.b" },
  });
  expect(formatResult(result)).toMatch(/first diverging tensor: out\.b maxabs 2 \(tolerance 1\); 2 of 3 fail/);
  expect(formatResult(result)).toContain("length 3 for 4");
});

test("what throws, and a kind that compares nothing, fail", async () => {
  const thrown = await runFixture(made, [kindOf([check("out.a", 0, 1)], new Error("no such weight"))], context);
  expect(thrown).toMatchObject({ status: "fail", numChecks: 1 });
  expect(formatResult(thrown)).toContain("stopped: Error: no such weight");
  expect(await runFixture(made, [kindOf([])], context)).toMatchObject({ status: "fail" });
  const unreadable = await runFixture(folder.tiny("kinds/bad", "{"), [], context);
  expect(unreadable).toMatchObject({ status: "fail" });
});

test("an unknown kind fails, unless the list names it: then it is not run, for the list's reason", async () => {
  const other = folder.tiny("kinds/other", { kind: "later_kind" });
  const run = (list: Record<string, string>) => runFixture(other, [kindOf([])], context, list);
  const listed = await run({ later_kind: "nothing computes it" });
  expect(listed).toMatchObject({ status: "not run", kind: "later_kind", reason: "nothing computes it" });
  expect(formatSummary([listed])).toBe("0 passed, 0 failed, 1 not run");
  const unlisted = await run({ another: "nothing computes it" });
  expect(unlisted).toMatchObject({ status: "fail", kind: "later_kind" });
  expect(formatResult(unlisted)).toContain("stopped: unknown kind later_kind: add one in tooling/goldens/kinds");
  // Names that every object has are no entries.
  expect(await runFixture(folder.tiny("kinds/odd", { kind: "toString" }), [], context, {})).toMatchObject({
    status: "fail",
  });
  const nameless = await runFixture(folder.tiny("kinds/nameless", {}), [kindOf([])], context);
  expect(nameless).toMatchObject({ status: "fail", reason: expect.stringContaining("no kind recognises it") });
});

test("the list has reasons, and only for kinds of committed goldens that nothing checks", async () => {
  const { kinds } = await loadKinds();
  const fixtures = findFixtures(committed);
  const unknown = fixtures.filter((fixture) => findKind(kinds, fixture) === undefined).map(({ json }) => json.kind);
  for (const fixture of fixtures) fixture.close();
  expect(Object.keys(NOT_CHECKED.kinds).sort()).toEqual([...new Set(unknown)].sort());
  for (const reason of Object.values<string>(NOT_CHECKED.kinds)) expect(reason.length).toBeGreaterThan(20);
});

test("a fixture that a kind cannot check in a context is not run, with the kind's reason", async () => {
  const kind = { ...kindOf([check("out.a", 2, 1)]), cannotRun: () => "it states no tolerance for bfloat16" };
  const result = await runFixture(made, [kind], context);
  expect(result).toMatchObject({ status: "not run", numChecks: 0, reason: "it states no tolerance for bfloat16" });
  expect(formatResult(result)).toMatch(/^not run +kinds\/made +it states no tolerance for bfloat16/);
});

test("the outcome for programs names fixtures by label, not by where they lie on this machine", async () => {
  const text = formatJson([await runFixture(made, [kindOf([check("out.a", Number.NaN, 1)])], context)], context);
  expect(JSON.parse(text).results).toMatchObject([{ label: "kinds/made", worst: { error: "NaN" } }]);
  expect(text).not.toContain(folder.path);
});

test("severity ranks by error over tolerance, exact misses and NaN above all", () => {
  expect(severity(check("a", 1, 2))).toBe(0.5);
  expect(severity(check("a", 0, 0))).toBe(0);
  expect(severity(check("a", 1, 0))).toBe(Number.POSITIVE_INFINITY);
  expect(severity(check("a", Number.NaN, 1))).toBe(Number.POSITIVE_INFINITY);
  expect(severity(check("a", 80, 40, { metric: "psnr_db", ok: true }))).toBe(0.5);
});

test("kinds are chosen by name, or by their own test where the JSON has none", () => {
  const named = kindOf([]);
  const guessing: GoldenKind = { ...kindOf([]), kind: "guess", matches: (fixture) => fixture.json.model === "tiny" };
  const fixture = (json: object) => ({ json }) as Fixture;
  expect(findKind([named, guessing], fixture({ kind: "made" }))).toBe(named);
  expect(findKind([named, guessing], fixture({ model: "tiny" }))).toBe(guessing);
  expect(findKind([named, guessing], fixture({ kind: "none", model: "tiny" }))).toBeUndefined();
  expect(findKind([named, guessing], fixture({}))).toBeUndefined();
});

test("the folder of kinds is the registry, and a file that cannot be loaded is told", async () => {
  folder.write("registry/good.ts", "export const good = { kind: 'good', run() {} }; export const other = 3;");
  folder.write("registry/index.ts", "throw new Error('never loaded')");
  folder.write("registry/bad.ts", "throw new Error('cannot load')");
  const { kinds, broken } = await loadKinds(pathToFileURL(`${folder.path}/registry/`));
  expect(kinds.map(({ kind }) => kind)).toEqual(["good"]);
  expect(broken).toHaveLength(1);
  expect(broken[0]).toMatchObject({ file: "bad.ts" });
});
