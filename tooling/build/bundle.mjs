// Programs as single files: everything of the workspace in one, without node_modules but for the addon's finder and the
// device code.
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { sourceAliases } from "./packages.mjs";
import { ROOT } from "./workspace.mjs";

const require = createRequire(join(ROOT, "package.json"));
/** esbuild as tsup has it. A function: where this module is loaded, nothing may be installed yet. */
const loadEsbuild = () => createRequire(require.resolve("tsup"))("esbuild");

/** Folders that are read when the program runs, as modules that name every file. */
const GENERATED = {
  "tooling/goldens/kinds/index.ts": () => {
    const files = readdirSync(join(ROOT, "tooling/goldens/kinds")).filter((name) => name !== "index.ts");
    const imports = files.map((name, i) => `import * as k${i} from "./${name.replace(/\.ts$/, "")}";`);
    return `${imports.join("\n")}
const isKind = (v) => typeof v === "object" && v !== null && typeof v.kind === "string" && typeof v.run === "function";
const kinds = [...new Set([${files.map((_, i) => `...Object.values(k${i})`).join(", ")}].filter(isKind))];
export const loadKinds = async () => ({ kinds, broken: [] });
export const findKind = (all, fixture) => fixture.json.kind !== undefined
  ? all.find(({ kind }) => kind === fixture.json.kind) : all.find((kind) => kind.matches?.(fixture));`;
  },
};

const generated = {
  name: "generated",
  setup(build) {
    for (const [path, make] of Object.entries(GENERATED)) {
      const filter = new RegExp(`${path.replaceAll(/[./]/g, (c) => (c === "." ? "\\." : "[/\\\\]"))}$`);
      build.onLoad({ filter }, (args) => ({ contents: make(), loader: "js", resolveDir: dirname(args.path) }));
    }
  },
};

/** Bundles programs into `outputDir`: <name>.mjs for each, and the parts that they share. programs: entry files by name,
 *  from the root. */
export async function bundle(programs, outputDir) {
  await loadEsbuild().build({
    entryPoints: Object.fromEntries(Object.entries(programs).map(([name, path]) => [name, join(ROOT, path)])),
    outdir: outputDir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    alias: Object.fromEntries(Object.entries(sourceAliases()).map(([name, path]) => [name, join(ROOT, path)])),
    // Charts are drawn where results are read, not where they are made.
    external: ["node-gyp-build", "@vd/kernels-cuda", "sharp", "@observablehq/plot"],
    plugins: [generated],
    logLevel: "error",
    // Names stay, for messages; the pack has a limit.
    minifyWhitespace: true,
    legalComments: "none",
    // Files in CommonJS ask for Node's own modules by require, and for files beside them by __dirname, which some modules declare for
    // themselves: a second `var` is no error.
    banner: {
      js: [
        'import { createRequire as vdCreateRequire } from "node:module";',
        'import { fileURLToPath as vdFileURLToPath } from "node:url";',
        "const require = vdCreateRequire(import.meta.url);",
        'var __dirname = vdFileURLToPath(new URL(".", import.meta.url));',
      ].join(" "),
    },
  });
}
