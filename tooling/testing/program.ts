import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { sourceAliases } from "../build/packages.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Programs by the id of the process that made them. */
const PROGRAMS = join(ROOT, "build/test-programs");
const bundled = new Map<string, Promise<string>>();

/** The workspace's packages are taken from their sources, others from where the importing file finds them. A bundle lies
 *  elsewhere than its sources, whose own place is therefore written into them. */
const asInPlace: Plugin = {
  name: "as in place",
  setup({ onResolve, onLoad, resolve }) {
    const sources = sourceAliases();
    onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, pluginData }) => {
      if (pluginData === asInPlace || kind === "entry-point" || path.startsWith("node:")) return undefined;
      const source = sources[path];
      if (source !== undefined) return { path: join(ROOT, source) };
      const found = await resolve(path, { kind, resolveDir, pluginData: asInPlace });
      if (found.errors.length > 0 || found.external) return { path, external: true };
      return { path: kind === "require-call" ? found.path : pathToFileURL(found.path).href, external: true };
    });
    onResolve({ filter: /^\..*\.cjs$/ }, ({ path, resolveDir }) => {
      return { path: pathToFileURL(join(resolveDir, path)).href, external: true };
    });
    onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href)),
      loader: "ts",
      resolveDir: dirname(path),
    }));
  },
};

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Removes the programs of processes that are gone: a test's process is ended by a signal and cannot do it itself. */
function removeLeft(): void {
  mkdirSync(PROGRAMS, { recursive: true });
  for (const pid of readdirSync(PROGRAMS))
    if (Number(pid) === process.pid || !isAlive(Number(pid)))
      rmSync(join(PROGRAMS, pid), { recursive: true, force: true });
}

async function bundle(source: string): Promise<string> {
  if (bundled.size === 0) removeLeft();
  const folder = join(PROGRAMS, String(process.pid), String(bundled.size));
  await build({
    ...{ entryPoints: { program: source }, outdir: folder, outExtension: { ".js": ".mjs" } },
    ...{ bundle: true, splitting: true, format: "esm", platform: "node", target: "node20" },
    // As Node.js resolves, not as bundlers do.
    ...{ conditions: [], mainFields: ["main"] },
    ...{ sourcemap: true, logLevel: "silent", plugins: [asInPlace], tsconfigRaw: {} },
  });
  return join(folder, "program.mjs");
}

/** Makes a program that plain Node.js runs of a TypeScript file and the sources of all that it imports, once for each file, and
 *  returns its path: a process that compiles its sources as it loads them takes seconds of the processor to start. The
 *  program is there as long as this process. */
export function bundledProgram(source: string): Promise<string> {
  const known = bundled.get(source) ?? bundle(source);
  bundled.set(source, known);
  return known;
}
