import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../../tooling/testing/temporary-folder";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Packages, the workspace's and others, that a command line loads from its sources. */
function packagesLoadedBy(...argv: string[]): string[] {
  const folder = temporaryFolder();
  const [list, hook, register] = ["list.txt", "hook.mjs", "register.mjs"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(
    hook,
    `import { appendFileSync } from "node:fs";
    export const load = (url, context, next) => (appendFileSync(${JSON.stringify(list)}, url + "\\n"), next(url, context));`,
  );
  writeFileSync(
    register,
    `import { appendFileSync } from "node:fs"; import module, { register } from "node:module";
    register(${JSON.stringify(pathToFileURL(hook).href)});
    process.on("exit", () => appendFileSync(${JSON.stringify(list)}, Object.keys(module._cache).join("\\n")));`,
  );
  const cli = join(root, "apps/generate/src/cli.ts");
  const words = ["--import", "tsx", "--import", pathToFileURL(register).href, cli, ...argv];
  const env = { ...process.env, TSX_TSCONFIG_PATH: join(root, "apps/generate/tsconfig.json") };
  const { status, stderr } = spawnSync(process.execPath, words, { cwd: root, encoding: "utf8", env });
  expect(status, stderr).toBe(0);
  const found = readFileSync(list, "utf8").matchAll(
    /(?:node_modules\/(?!\.pnpm)|(?:packages|apps)\/)((?:@[^/]+\/)?[^/\n]+)\//g,
  );
  const tools = ["tsx", "esbuild", "get-tsconfig", "resolve-pkg-maps"];
  return [...new Set([...found].map(([, name]) => name!))].filter((name) => !tools.includes(name)).sort();
}

/** What options are made of, what apps share, and a library for command lines. */
const LEAN = ["app-parts", "commander", "generate", "kernels-native", "media", "sampling", "svd-pipeline", "tensor"];

it("loads for help only what options need: no pictures, no Hub, no bar, no profiler", () => {
  expect(packagesLoadedBy("--help")).toEqual(LEAN);
});
