import { existsSync, readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bundledInto, publicPackages } from "../../../build/packages.mjs";

/** Used through a path or a file of it, or by the package's binary alone; not visible as an import. */
const USED_OTHERWISE: Readonly<Record<string, readonly string[]>> = {
  "@vd/kernels-native": ["node-gyp-build", "@vd/kernels-cuda"],
  "@vd/bench": ["@vd/model-tiny-svd"],
  "@vd/generate": ["@vd/model-tiny-svd"],
  "@vd/live": ["@vd/model-tiny-live"],
  "@vd/studio": ["@vd/model-tiny-svd"],
  // Found by require.resolve: it may be left out.
  "@vd/media": ["@ffmpeg/core"],
};

/** Names of the packages that the sources of a package import; types alone count too, for its own types need them. */
function importsOf(dir: string): Set<string> {
  const folders = ["src", "contract"].map((name) => join(dir, name)).filter((path) => existsSync(path));
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  const texts = files.filter((path) => /\.(?:tsx?|js)$/.test(path)).map((path) => readFileSync(path, "utf8"));
  const pattern =
    /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s+"([^".][^"]*)"|import\("([^".][^"]*)"\)|^import "([^".][^"]*)"/gm;
  const named = texts.flatMap((text) => [...text.matchAll(pattern)].map(([, a, b, c]) => (a ?? b ?? c)!));
  const bare = named.map((name) =>
    name
      .split("/")
      .slice(0, name.startsWith("@") ? 2 : 1)
      .join("/"),
  );
  return new Set(bare.filter((name) => !name.startsWith("node:") && !builtinModules.includes(name)));
}

const packages = publicPackages().filter(({ dir }) => existsSync(join(dir, "src")));

describe("no package pulls what it does not use, and each names what it uses", () => {
  test.each(packages.map((each) => [each.manifest.name, each] as const))("%s", (name, each) => {
    const { dir, manifest } = each;
    const bundled = bundledInto(each);
    const imported = new Set([dir, ...bundled.map((inner) => inner.dir)].flatMap((folder) => [...importsOf(folder)]));
    for (const inner of bundled) imported.delete(inner.manifest.name);
    const otherwise = USED_OTHERWISE[name] ?? [];
    // The lowest package imports nothing but Node; in all others something must be found.
    expect(imported.size + otherwise.length).toBeGreaterThan(0);
    const declared = Object.keys({
      ...manifest.dependencies,
      ...manifest.peerDependencies,
      ...manifest.optionalDependencies,
    });
    expect(declared.filter((each) => !imported.has(each) && !otherwise.includes(each))).toEqual([]);
    // A package may name itself in a text of its own (an example in a comment or a message).
    expect([...imported].filter((each) => !declared.includes(each) && each !== name)).toEqual([]);
  });
});
