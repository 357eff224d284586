import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { sourceAliases } from "../../build/packages.mjs";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

// When an op's folder is gone, generated files import what is not there: they could never be written anew.
test("the generator of ops loads nothing that it writes", async () => {
  const { metafile } = await build({
    ...{ absWorkingDir: ROOT, entryPoints: ["tooling/generate/ops/files.ts"], outdir: "build", write: false },
    ...{ bundle: true, metafile: true, platform: "node", format: "esm", packages: "external", logLevel: "silent" },
    alias: Object.fromEntries(Object.entries(sourceAliases()).map(([name, path]) => [name, `./${path}`])),
  });
  const loaded = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs));
  expect(loaded).toContain("tooling/generate/ops/measured.ts");
  expect(loaded.filter((path) => path.includes(".generated."))).toEqual([]);
});
