// Runs an app of the workspace, installed and built first where it is not: `node tooling/app.mjs generate cat.png`. Behind
// `pnpm generate`, `pnpm bench` and `pnpm live`, which so work in a fresh clone. A build that is there is taken as it is.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { handOnSignals, prepareWorkspace, ROOT, runMain } from "./build/workspace.mjs";

const [name, ...words] = process.argv.slice(2);
const folder = join(ROOT, "apps", name);
const program = join(folder, "dist/cli.js");

await runMain(name, async () => {
  if (!existsSync(program)) {
    const dropHandlers = handOnSignals();
    // A package may have the name that an app would have: @vd/live is a library.
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    await prepareWorkspace(`${manifest.name}...`);
    dropHandlers();
  }
  // In this process: signals, the terminal and the exit status are the app's own. pnpm hands on a "--" that only it needed.
  process.argv.splice(1, Number.POSITIVE_INFINITY, program, ...(words[0] === "--" ? words.slice(1) : words));
  await import(pathToFileURL(program).href);
});
