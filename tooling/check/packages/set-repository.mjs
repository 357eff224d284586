// Writes the repository's address into every public package.json, for the provenance of a release.
// node tooling/check/packages/set-repository.mjs https://host/owner/name
import { renameSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { publicPackages } from "../../build/packages.mjs";
import { ROOT } from "../../build/workspace.mjs";

const [address] = process.argv.slice(2);
if (!/^https:\/\/[^/]+\/[^/]+\/[^/]+$/.test(address ?? "")) {
  console.error(`set-repository: expected https://host/owner/name, got ${address}`);
  process.exit(2);
}
for (const { dir, manifest } of publicPackages()) {
  const directory = relative(ROOT, dir).replaceAll("\\", "/");
  const repository = { type: "git", url: `git+${address}.git`, directory };
  const path = join(dir, "package.json");
  writeFileSync(`${path}.tmp`, `${JSON.stringify({ ...manifest, repository }, null, 2)}\n`);
  renameSync(`${path}.tmp`, path);
}
