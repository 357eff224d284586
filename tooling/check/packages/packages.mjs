// Tarballs of the packages that are published.
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { basename, join } from "node:path";
import { Failure, pnpmCommand, ROOT } from "../../build/workspace.mjs";

/** Runs a program to its end. Throws with what it said when it fails. Returns its standard output. */
export function run(program, words, options = {}) {
  const result = spawnSync(program, words, { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 28, ...options });
  if (result.status === 0) return result.stdout;
  const said = result.error?.message ?? `${result.stdout}\n${result.stderr}`.trim().split("\n").slice(-40).join("\n");
  throw new Failure(`${basename(program)} ${words.join(" ")} ended with ${result.status ?? result.signal}:\n${said}`);
}

/** Packs a package as `pnpm publish` would. Returns the tarball's path. */
export function pack(dir, outputDir) {
  const { program, words, shell } = pnpmCommand();
  const said = run(program, [...words, "pack", "--json", "--pack-destination", outputDir], { cwd: dir, shell });
  // Scripts that run before packing print above the JSON.
  const { filename } = JSON.parse(said.slice(said.indexOf("{\n")));
  return filename.startsWith(outputDir) ? filename : join(outputDir, basename(filename));
}

/** Paths and sizes in a tarball, without its first folder. */
export function entriesOf(tarball) {
  return run("tar", ["-tvzf", tarball])
    .split("\n")
    .filter((line) => line.startsWith("-"))
    .map((line) => {
      const [, , bytes, , , ...path] = line.split(/\s+/);
      return { path: path.join(" ").replace(/^package\//, ""), bytes: Number(bytes) };
    });
}

/** Size of a file in bytes. */
export const bytesOf = (path) => statSync(path).size;
