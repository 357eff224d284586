// A copy of an example with the packages of this checkout, installed from tarballs as from a registry.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publicPackages } from "../../build/packages.mjs";
import { ROOT } from "../../build/workspace.mjs";
import { packAll, run } from "../packages/packages.mjs";
import { BUILD } from "./runtimes.mjs";

/** Packs our packages that `names` need, themselves among them. Resolves to the tarballs by name. */
async function packClosure(names) {
  const all = publicPackages();
  const needed = new Set(names);
  for (const { manifest } of [...all].reverse())
    if (needed.has(manifest.name))
      for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) needed.add(name);
  const folder = join(BUILD, "tarballs");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const ours = all.filter(({ manifest }) => needed.has(manifest.name));
  const tarballs = await packAll(ours, folder);
  return Object.fromEntries(ours.map(({ manifest }, i) => [manifest.name, tarballs[i]]));
}

/** Name of a file that stands for device code where none is built: programs find it as they find the real ones. */
export const STAND_IN = "sm_00.fatbin";

/** Copies an example folder and installs it. flags: for npm. Resolves to the project's folder, which stays for the next time. */
export async function installExample(name, flags = []) {
  const folder = join(BUILD, name);
  const modules = join(folder, "node_modules");
  // What is ours may be of another build under the same version.
  rmSync(join(modules, "@vd"), { recursive: true, force: true });
  rmSync(join(folder, "package-lock.json"), { force: true });
  cpSync(join(ROOT, "examples", name), folder, { recursive: true });
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const tarballs = await packClosure(Object.keys(manifest.dependencies).filter((each) => each.startsWith("@vd/")));
  const dependencies = { ...manifest.dependencies };
  for (const [each, path] of Object.entries(tarballs)) dependencies[each] = `file:${path}`;
  writeFileSync(join(folder, "package.json"), `${JSON.stringify({ ...manifest, dependencies }, null, 2)}\n`);
  run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", ...flags], { cwd: folder });
  const images = join(modules, "@vd/kernels-cuda/images");
  if (!existsSync(images)) {
    mkdirSync(images);
    writeFileSync(join(images, STAND_IN), "stands for device code");
  }
  return folder;
}

/** The bundled model, and a picture of its samples. */
export const MODEL = join(ROOT, "models/tiny-svd");
export const PICTURE = join(MODEL, "samples/one-ball.png");

/** Whether bytes are an MP4 with a movie in it. */
export const isMovie = (bytes) => bytes.toString("latin1", 4, 8) === "ftyp" && bytes.includes("moov");
