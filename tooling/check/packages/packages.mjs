// Tarballs of the packages that are published.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { ended, Failure, pnpmCommand, ROOT } from "../../build/workspace.mjs";

/** Runs a program to its end. Throws with what it said when it fails. Returns its standard output. */
export function run(program, words, options = {}) {
  const result = spawnSync(program, words, { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 28, ...options });
  if (result.status === 0) return result.stdout;
  const said = result.error?.message ?? `${result.stdout}\n${result.stderr}`.trim().split("\n").slice(-40).join("\n");
  throw new Failure(`${basename(program)} ${words.join(" ")} ended with ${result.status ?? result.signal}:\n${said}`);
}

/** Packs a package as `pnpm publish` would. Resolves to the tarball's path. */
async function pack(dir, outputDir) {
  const { program, words, shell } = pnpmCommand();
  const child = spawn(program, [...words, "pack", "--json", "--pack-destination", outputDir], { cwd: dir, shell });
  const [said, errors, { status }] = await Promise.all([text(child.stdout), text(child.stderr), ended(child)]);
  if (status !== 0) throw new Failure(`${dir} is not packed:\n${said}\n${errors}`);
  // Scripts that run before packing print above the JSON.
  const { filename } = JSON.parse(said.slice(said.indexOf("{\n")));
  return filename.startsWith(outputDir) ? filename : join(outputDir, basename(filename));
}

/** Path of a package's tarball in a folder, by the name that pnpm gives it. Throws where there is none. */
export function tarballOf({ name, version }, folder) {
  const path = join(folder, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`);
  if (!existsSync(path)) throw new Failure(`expected ${path}, got no such file. Run \`pnpm pack:tarballs\` first.`, 2);
  return path;
}

/** Packs packages as `pnpm publish` would, as many at a time as there are processors: pnpm works with one thread. Resolves to the
 *  tarballs' paths, in the packages' order. */
export async function packAll(packages, outputDir) {
  const tarballs = [];
  const waiting = [...packages.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      tarballs[next[0]] = await pack(next[1].dir, outputDir);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return tarballs;
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
