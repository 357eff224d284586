// Builds the addon for this machine with prebuildify, unless prebuilds/ already holds the build of these sources.
// No Node headers, Python or make: g++ and the headers of node-api-headers and node-addon-api.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { addonInputs, filesBelow, packageDir } from "./sources.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const target = `${process.platform}-${process.arch}`;
const binary = join(packageDir, "prebuilds", target, "vd-native.node");
const stamp = join(packageDir, "prebuilds", target, "vd-native.sha256");

function contentHash() {
  const hash = createHash("sha256");
  const tools = filesBelow(here, (name) => name.endsWith(".mjs"));
  for (const path of [...addonInputs(), ...tools]) {
    hash.update(relative(packageDir, path)).update("\0").update(readFileSync(path)).update("\0");
  }
  return hash.digest("hex");
}

function compilerOrExit() {
  const compiler = process.env.CXX ?? "g++";
  const probe = spawnSync(compiler, ["--version"], { encoding: "utf8" });
  if (probe.status === 0) return;
  console.error(
    `[build-addon] expected a C++20 compiler named ${compiler}, got ${probe.error?.code ?? `exit ${probe.status}`}. ` +
      "Install one (Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++) or set CXX.",
  );
  process.exit(1);
}

const hash = contentHash();
if (existsSync(binary) && existsSync(stamp) && readFileSync(stamp, "utf8").trim() === hash) {
  console.log(`addon: prebuilds/${target} is fresh`);
  process.exit(0);
}
compilerOrExit();
const started = Date.now();
const prebuildify = createRequire(join(packageDir, "package.json")).resolve("prebuildify/bin.js");
mkdirSync(join(packageDir, "native/build/Release"), { recursive: true });
const args = [prebuildify, "--napi", "--strip", "--cwd", "native", "--out", packageDir, "--name", "vd-native"];
const result = spawnSync(process.execPath, args, {
  cwd: packageDir,
  stdio: ["ignore", "inherit", "inherit"],
  env: { ...process.env, PREBUILD_NODE_GYP: join(here, "compile.mjs") },
});
if (result.status !== 0) process.exit(result.status ?? 1);
writeFileSync(stamp, `${hash}\n`);
console.log(`addon: built prebuilds/${target} in ${((Date.now() - started) / 1000).toFixed(1)} s`);
