import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  exampleOf,
  examplesOfSingleLibraries,
  libraries,
  publicPackages,
  sourceAliases,
} from "../../build/packages.mjs";
import { ROOT } from "../../build/workspace.mjs";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const names = publicPackages().map(({ manifest }) => manifest.name as string);

describe("the packages of the workspace", () => {
  test("come after those that they need", () => {
    const tooEarly = publicPackages().flatMap(({ manifest }, i) =>
      Object.keys(manifest.dependencies ?? {}).filter((name) => names.indexOf(name) > i),
    );
    expect(tooEarly).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(["@vd/hub", "@vd/sampling", "@vd/media", "@vd/generate"]));
  });

  test("have sources for everything that they export, names inside a package first", () => {
    const aliases = Object.entries(sourceAliases() as Record<string, string>);
    expect(aliases.filter(([, path]) => !existsSync(join(ROOT, path)))).toEqual([]);
    const order = aliases.map(([name]) => name);
    for (const [i, name] of order.entries())
      expect(order.slice(0, i).filter((earlier) => name.startsWith(`${earlier}/`))).toEqual([]);
  });

  test("are where tsconfig.base.json finds them", () => {
    const { paths } = JSON.parse(read("tsconfig.base.json")).compilerOptions as { paths: Record<string, string[]> };
    for (const [name, source] of Object.entries(sourceAliases() as Record<string, string>)) {
      const places = paths[name] ?? paths["@vd/*"]!.map((path) => path.replace("*", name.slice("@vd/".length)));
      expect(places.find((path) => existsSync(join(ROOT, path)))).toBe(`./${source}`);
    }
  });

  test("are on docs/packages.md", () => {
    const page = read("docs/packages.md");
    expect(names.filter((name) => !page.includes(`[\`${name}\`]`))).toEqual([]);
  });

  test("have an example if programs import them", () => {
    const without = libraries().map(({ manifest }) => manifest.name as string);
    // tensorrt needs ONNX Runtime, bench is a program.
    expect(without.filter((name) => exampleOf(name) === undefined).sort()).toEqual(["@vd/bench", "@vd/tensorrt"]);
    expect(examplesOfSingleLibraries()).toMatchObject({
      "@vd/hub": "hub.mjs",
      "@vd/sampling": "sampling.mjs",
      "@vd/media": "media.mjs",
    });
    expect(examplesOfSingleLibraries()).not.toHaveProperty("@vd/vae-opt");
  });
});
