import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = readFileSync(join(root, "docs/dependencies.md"), "utf8");
const folders = ["packages", "apps"].flatMap((parent) =>
  readdirSync(join(root, parent)).map((name) => join(parent, name)),
);
const manifests = [".", "docs", ...folders].filter((folder) => existsSync(join(root, folder, "package.json")));

/** Names of all packages that a folder's manifest asks for, but for those of the workspace. */
function dependenciesOf(folder: string): string[] {
  const manifest = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  const kinds = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
  return kinds.flatMap((kind) => Object.keys(manifest[kind] ?? {})).filter((name) => !name.startsWith("@vd/"));
}

test.each(manifests)("docs/dependencies.md says why %s needs what it asks for", (folder) => {
  expect(dependenciesOf(folder).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test("all manifests are looked at", () => {
  expect(manifests.length).toBeGreaterThan(15);
  expect(new Set(manifests.flatMap(dependenciesOf)).size).toBeGreaterThan(50);
});
