import { loadFixture } from "./fixture";
import type { GoldenContext, GoldenKind, TensorCheck } from "./kind";
import { findKind } from "./kinds/index";
import NOT_CHECKED from "./not-checked.json";

/** What became of one fixture file. */
export interface FixtureResult {
  label: string;
  jsonPath: string;
  kind: string | undefined;
  status: "pass" | "fail" | "not run";
  /** Tensors compared. */
  numChecks: number;
  numFailures: number;
  /** The check that came nearest to its tolerance, or went furthest past it. */
  worst?: TensorCheck;
  /** The first check that failed, in the order in which the model computes. */
  firstFailure?: TensorCheck;
  /** Why the file was not run, or what broke off the run. */
  reason?: string;
  elapsedUs: number;
}

/** How far a check is from passing: up to 1 passes, except that any excess over a tolerance of 0 is infinite. */
export function severity({ error, tolerance, metric, ok }: TensorCheck): number {
  if (Number.isNaN(error)) return Number.POSITIVE_INFINITY;
  // For a signal-to-noise ratio more is better.
  const [part, whole] = metric === "psnr_db" ? [tolerance, error] : [error, tolerance];
  if (part === whole) return ok ? Number(part !== 0) : Number.POSITIVE_INFINITY;
  return whole === 0 ? Number.POSITIVE_INFINITY : part / whole;
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === "VdError" ? error.message : (error.stack ?? error.message);
}

function addCheck(result: FixtureResult, check: TensorCheck): void {
  result.numChecks++;
  if (result.worst === undefined || severity(check) > severity(result.worst)) result.worst = check;
  if (check.ok) return;
  result.numFailures++;
  result.status = "fail";
  result.firstFailure ??= check;
}

/** Reasons for which nothing here checks a kind of golden, by the JSON's `kind`. */
export type NotChecked = Readonly<Record<string, string>>;

/** What becomes of a fixture that no kind knows: only a kind that the list names may be left out. */
function withoutKind(result: FixtureResult, notChecked: NotChecked): void {
  const { kind } = result;
  const known = kind !== undefined && Object.hasOwn(notChecked, kind) ? notChecked[kind] : undefined;
  result.status = known === undefined ? "fail" : "not run";
  const what = kind === undefined ? "no kind recognises it" : `unknown kind ${kind}`;
  result.reason =
    known ?? `${what}: add one in tooling/goldens/kinds, or its reason to tooling/goldens/not-checked.json`;
}

/**
 * Compares the fixture at `jsonPath` with the kind that knows it. What goes wrong, be it a file that cannot be read,
 * a kind that throws or a fixture of a kind that neither `kinds` nor `notChecked` has, is in the result: this never
 * rejects.
 */
export async function runFixture(
  jsonPath: string,
  kinds: readonly GoldenKind[],
  context: GoldenContext,
  notChecked: NotChecked = NOT_CHECKED.kinds,
): Promise<FixtureResult> {
  const started = process.hrtime.bigint();
  const label = jsonPath
    .split(/[/\\]/)
    .slice(-2)
    .join("/")
    .replace(/\.json$/, "");
  const result: FixtureResult = {
    label,
    jsonPath,
    kind: undefined,
    status: "pass",
    numChecks: 0,
    numFailures: 0,
    elapsedUs: 0,
  };
  try {
    const fixture = loadFixture(jsonPath);
    try {
      const kind = findKind(kinds, fixture);
      result.kind = kind?.kind ?? fixture.json.kind;
      if (kind === undefined) {
        withoutKind(result, notChecked);
        return result;
      }
      const reason = kind.cannotRun?.(fixture, context);
      if (reason !== undefined) {
        result.status = "not run";
        result.reason = reason;
        return result;
      }
      for await (const check of kind.run(fixture, context)) addCheck(result, check);
    } finally {
      fixture.close();
    }
    if (result.numChecks === 0) throw new Error("the kind compared no tensor");
  } catch (error) {
    result.status = "fail";
    result.reason = explain(error);
  } finally {
    result.elapsedUs = Number((process.hrtime.bigint() - started) / 1000n);
  }
  return result;
}
