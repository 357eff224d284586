// Tiny programs with one error each: a sanitizer that does not report them would report nothing else either.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageDir } from "../../build/addon/sources.mjs";
import { buildProgram } from "./build.mjs";

const ERRORS = [
  {
    name: "reads-past-the-end",
    kind: "memory",
    report: /AddressSanitizer: heap-buffer-overflow/,
    text: `#include <vector>
int main(int argc, char**) { std::vector<int> v(4); return v.data()[3 + argc]; }`,
  },
  {
    name: "overflows",
    kind: "memory",
    report: /runtime error: signed integer overflow/,
    text: `#include <limits>
int main(int argc, char**) { volatile int most = std::numeric_limits<int>::max(); most = most + argc; }`,
  },
  {
    name: "races",
    kind: "races",
    report: /ThreadSanitizer: data race/,
    text: `#include <thread>
int shared = 0;
int main() { std::thread other([] { ++shared; }); ++shared; other.join(); return shared - 2; }`,
  },
];

/** Sentences about errors that went unreported; none if all were found. */
export async function undetected() {
  const folder = join(packageDir, "build/sanitized/errors");
  mkdirSync(folder, { recursive: true });
  const faults = [];
  for (const { name, kind, report, text } of ERRORS) {
    const source = join(folder, `${name}.cc`);
    writeFileSync(source, `${text}\n`);
    const { status, stderr } = spawnSync(await buildProgram(kind, name, [source]), { encoding: "utf8" });
    if (status === 0 || !report.test(stderr)) faults.push(`${name}: expected ${report}, got ${status}: ${stderr}`);
  }
  return faults;
}
