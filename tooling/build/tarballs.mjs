// Packs every package that is published, as npm would get it: `pnpm pack:tarballs DIR`. What installs them: `npm install
// DIR/*.tgz`, also where there is neither a compiler nor this repository.
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { packAll } from "../check/packages/packages.mjs";
import { publicPackages } from "./packages.mjs";
import { Failure, handOnSignals, prepareWorkspace, runMain } from "./workspace.mjs";

await runMain("pack:tarballs", async () => {
  const [folder, ...more] = process.argv.slice(2).filter((word) => word !== "--");
  if (folder === undefined || folder.startsWith("-") || more.length > 0)
    throw new Failure("expected one folder, as in: pnpm pack:tarballs build/tarballs", 2);
  handOnSignals();
  await prepareWorkspace();
  const target = resolve(folder);
  mkdirSync(target, { recursive: true });
  console.log((await packAll(publicPackages(), target)).join("\n"));
});
