// Bun and Deno: every example, as Node.js runs it, and the same frames as in Node.js.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../build/workspace.mjs";
import { EXAMPLES } from "../examples.mjs";
import { run } from "../packages/packages.mjs";

/** Everything that the checks keep between runs. */
export const BUILD = join(ROOT, "build/hosts");
const TRIES_MS = 120_000;
const FRAMES = "svd-pipeline.mjs";

/** The npm packages that have the programs themselves, and how each is started. */
const RUNTIMES = {
  bun: { name: "@oven/bun-linux-x64", version: "1.4.5", program: "bin/bun", words: ["run"] },
  deno: { name: "@deno/linux-x64-glibc", version: "2.9.6", program: "deno", words: ["run", "--allow-all"] },
};

/** Path of a runtime's program, from npm once. */
function fetchRuntime(key) {
  const { name, version, program } = RUNTIMES[key];
  const folder = join(BUILD, `${key}-${version}`);
  const path = join(folder, "node_modules", name, program);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const manifest = { name: key, private: true, dependencies: { [name]: version } };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest)}\n`);
  run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"], { cwd: folder });
  return path;
}

/** Runs an example with its files in `folder`. Returns what is wrong, as sentences. */
function faultsOf(command, example, folder) {
  const [program, ...words] = command;
  const result = spawnSync(program, [...words, join(ROOT, "examples", example), folder], {
    cwd: folder,
    encoding: "utf8",
    timeout: TRIES_MS,
    env: { ...process.env, NO_COLOR: "1" },
  });
  if (result.status !== 0)
    return [
      `${example} ended with ${result.signal ?? result.status}: ${`${result.stdout}${result.stderr}`.slice(-600)}`,
    ];
  const missed = EXAMPLES[example].filter((pattern) => !pattern.test(result.stdout));
  return missed.map((pattern) => `${example} does not say ${pattern}: ${result.stdout.slice(-600)}`);
}

/** The example's frames, one file behind the other. */
const framesIn = (folder) => Buffer.concat([0, 1, 2, 3, 4, 5].map((i) => readFileSync(join(folder, `frame-${i}.png`))));

/** Runs every example under a runtime, `bun` or `deno`, and compares the pipeline's frames with those of Node.js. Returns
 *  what was found: a sentence about it, and what is wrong. */
export function checkRuntime(key) {
  const { version, words } = RUNTIMES[key];
  const command = [fetchRuntime(key), ...words];
  const folder = mkdtempSync(join(tmpdir(), `vd ${key} `));
  try {
    const folderOf = (name) => {
      const path = join(folder, name);
      mkdirSync(path, { recursive: true });
      return path;
    };
    const faults = Object.keys(EXAMPLES).flatMap((example) => faultsOf(command, example, folderOf(`of ${example}`)));
    faults.push(...faultsOf([process.execPath], FRAMES, folderOf("of Node.js")));
    const isSame = faults.length > 0 || framesIn(folderOf(`of ${FRAMES}`)).equals(framesIn(folderOf("of Node.js")));
    if (!isSame) faults.push("the frames are others than those of Node.js");
    return { said: `${version}, ${Object.keys(EXAMPLES).length} examples, the frames of Node.js`, faults };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
