import type { TensorCheck } from "./kind";
import type { FixtureResult } from "./run-fixture";

/** A number for a column: three digits, and no exponent where none is needed. */
function shortNumber(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e6 ? String(value) : value.toExponential(2);
}

function describeCheck({ name, metric, error, tolerance, note }: TensorCheck): string {
  const limit = metric === "psnr_db" ? "at least" : "tolerance";
  return `${name} ${metric} ${shortNumber(error)} (${limit} ${shortNumber(tolerance)}${note ? `; ${note}` : ""})`;
}

/** One line for a file that passed or was not run; more on a failure: the first diverging tensor and what broke. */
export function formatResult(result: FixtureResult): string {
  const { status, label, worst, firstFailure, reason, numChecks, numFailures, elapsedUs } = result;
  const parts = [status.padEnd(7), label.padEnd(26)];
  if (worst) parts.push(`worst ${describeCheck(worst)}, ${numChecks} tensors, ${(elapsedUs / 1e6).toFixed(1)} s`);
  else if (reason && status === "not run") parts.push(reason);
  const lines = [parts.join(" ").trimEnd()];
  if (firstFailure) {
    lines.push(`        first diverging tensor: ${describeCheck(firstFailure)}; ${numFailures} of ${numChecks} fail`);
  }
  if (reason && status === "fail") lines.push(`        stopped: ${reason.replaceAll("\n", "\n        ")}`);
  return lines.join("\n");
}

/** The last line: how many files passed, failed and were not run. */
export function formatSummary(results: readonly FixtureResult[]): string {
  const count = (status: FixtureResult["status"]) => results.filter((result) => result.status === status).length;
  return `${count("pass")} passed, ${count("fail")} failed, ${count("not run")} not run`;
}

/** The whole outcome for programs, in which fixtures go by their labels: where they lie is this machine's business. Numbers
 *  that JSON lacks (NaN, infinities) become strings. */
export function formatJson(results: readonly FixtureResult[], context: object): string {
  const finite = (_key: string, value: unknown) =>
    typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
  return JSON.stringify({ ...context, results: results.map(({ jsonPath: _, ...rest }) => rest) }, finite, 2);
}
