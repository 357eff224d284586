// A project of somebody who installs the packages: in a folder with spaces, with Node.js and nothing else on the PATH.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { ROOT } from "../../build/workspace.mjs";
import { run } from "./packages.mjs";

const COMPILERS = ["g++", "gcc", "cc", "c++", "clang", "clang++", "make", "python", "python3", "node-gyp", "nvcc"];
/** What package managers and their scripts need of a system. */
const SYSTEM = ["sh", "env", "uname", "dirname", "basename", "sed", "tar", "gzip"];

/** Where a program lies on the PATH, or undefined. */
function which(name) {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path) && statSync(path).isFile());
}

/** Environment of a machine without compilers: a PATH of one folder with Node.js and a shell. */
export function bareEnvironment(folder) {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const link = (name, path) => {
    if (path && !existsSync(join(bin, name))) symlinkSync(path, join(bin, name));
  };
  link("node", process.execPath);
  for (const name of ["npm", "npx"]) link(name, realpathSync(which(name)));
  for (const name of SYSTEM) link(name, which(name));
  const { HOME, npm_config_registry, npm_config_cache } = process.env;
  const kept = Object.entries({ HOME, npm_config_registry, npm_config_cache }).filter(([, value]) => value);
  const env = { ...Object.fromEntries(kept), PATH: bin, CI: "true", npm_config_update_notifier: "false" };
  const found = COMPILERS.filter((name) => spawnSync(name, ["--version"], { env }).status === 0);
  if (found.length > 0) throw new Error(`the bare environment has ${found.join(", ")}`);
  return env;
}

/** The package managers' words for "install these", each in a way that runs no install scripts of its own accord. */
export const MANAGERS = {
  npm: { version: undefined, install: ["install", "--no-audit", "--no-fund", "--prefer-offline"] },
  pnpm: { version: "pnpm@10.34.9", install: ["install", "--prefer-offline", "--ignore-workspace"] },
  // What fastify needs asks for Node 22, though it runs in 20.19: npm and pnpm say so, yarn refuses.
  yarn: {
    version: "yarn@1.22.22",
    install: ["install", "--non-interactive", "--prefer-offline", "--ignore-engines"],
  },
};

/** Makes an empty project with `dependencies` and installs them. */
export function installProject(folder, { manager = "npm", dependencies, env, extra = [] }) {
  mkdirSync(folder, { recursive: true });
  const manifest = { name: "consumer", version: "1.0.0", private: true, dependencies };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const { version, install } = MANAGERS[manager];
  const words = version ? ["npx", "-y", version, ...install, ...extra] : ["npm", ...install, ...extra];
  return run(words[0], words.slice(1), { cwd: folder, env });
}

const identifier = (name) => name.replace(/\W+/g, "_");

/** Imports every package both ways and compares what they export. */
export function checkImports(folder, libraries, env) {
  const esm = libraries.map((name) => `import * as ${identifier(name)} from ${JSON.stringify(name)};`);
  const pairs = libraries.map((name) => `[${JSON.stringify(name)}, ${identifier(name)}]`);
  const program = `import assert from "node:assert";
import { createRequire } from "node:module";
${esm.join("\n")}
const require = createRequire(import.meta.url);
for (const [name, esm] of [${pairs.join(", ")}]) {
  const keys = (module) => Object.keys(module).filter((key) => key !== "default" && key !== "module.exports").sort();
  assert.deepEqual(keys(require(name)), keys(esm), name);
  assert.ok(keys(esm).length > 0, name);
}
console.log("same");
`;
  writeFileSync(join(folder, "both.mjs"), program);
  const said = run("node", ["both.mjs"], { cwd: folder, env });
  if (!said.includes("same")) throw new Error(`the imports said ${said}`);
}

/** Compiles a program that uses every package's types, as ESM and CommonJS under node16 and under bundler. */
export function checkTypes(folder, libraries) {
  const tsc = createRequire(join(ROOT, "package.json")).resolve("typescript/bin/tsc");
  const types = join(dirname(createRequire(join(ROOT, "package.json")).resolve("@types/node/package.json")), "..");
  const imports = libraries.map((name) => `import * as ${identifier(name)} from ${JSON.stringify(name)};`);
  const uses = libraries.map((name) => `export const of_${identifier(name)}: object = ${identifier(name)};`);
  // Would compile without an error if the types were any.
  const wrong = libraries.includes("@vd/tensor")
    ? ["// @ts-expect-error there is no such device", 'vd_kernels_native_open("tpu");']
    : [];
  const open = "const vd_kernels_native_open = _vd_kernels_native.openDevice;";
  const text = [...imports, open, ...uses, ...wrong, ""].join("\n");
  for (const name of ["types.mts", "types.cts"]) writeFileSync(join(folder, name), text);
  const common = [
    "--noEmit",
    "--strict",
    "--target",
    "es2022",
    "--lib",
    "es2023,esnext.disposable",
    "--types",
    "node",
    "--typeRoots",
    types,
  ];
  const node16 = ["--module", "node16", "--moduleResolution", "node16", "types.mts", "types.cts"];
  const bundler = ["--module", "esnext", "--moduleResolution", "bundler", "types.mts"];
  for (const words of [node16, bundler]) run(process.execPath, [tsc, ...common, ...words], { cwd: folder });
}

/** Makes a small video with the bundled model through npx. Throws unless it is an MP4 with a movie in it. */
export function checkGeneration(folder, env, manager = "npm") {
  const words = ["vd-generate", "-o", "a clip.mp4", "--steps", "2", "--seed", "7", "--frames", "4", "--overwrite"];
  run("npx", ["--no-install", ...words], { cwd: folder, env: { ...env, VD_VERIFY: "1" } });
  const video = readFileSync(join(folder, "a clip.mp4"));
  const isMovie = video.toString("latin1", 4, 8) === "ftyp" && video.includes("moov");
  if (!isMovie || video.length < 1000) throw new Error(`${manager}: the video has ${video.length} bytes and no movie`);
  return video.length;
}

/** Starts every program of the packages, which loads what its help needs. A program with two names may say either.
 *  Returns the names. */
export function checkPrograms(folder, packages, env) {
  const programs = packages.flatMap(({ manifest }) =>
    Object.entries(manifest.bin ?? {}).map((bin) => [...bin, manifest]),
  );
  const names = programs.map(([name]) => name);
  for (const [name, target, { bin }] of programs) {
    const said = run("npx", ["--no-install", name, "--help"], { cwd: folder, env });
    const isItself = Object.keys(bin).some((other) => bin[other] === target && said.includes(`Usage: ${other} `));
    if (!isItself) throw new Error(`${name} --help says ${said.slice(0, 200)}`);
  }
  return names.join(", ");
}

/** Runs an example in a project. Returns which packages are installed there. */
export function runExample(folder, example, env) {
  cpSync(join(ROOT, "examples", example), join(folder, example));
  run("node", [example], { cwd: folder, env });
  const all = readdirSync(join(folder, "node_modules"), { withFileTypes: true }).filter(
    ({ name }) => !name.startsWith("."),
  );
  const ours = readdirSync(join(folder, "node_modules/@vd")).map((name) => `@vd/${name}`);
  return `${ours.join(", ")} and ${all.length - 1} others' folders`;
}
