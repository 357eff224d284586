// Packs every public package and uses the tarballs as a stranger would. Behind `pnpm check:packages`.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { examplesOfSingleLibraries, publicPackages } from "../../build/packages.mjs";
import { Failure, prepareWorkspace, runMain, seconds } from "../../build/workspace.mjs";
import { packAll, tarballOf } from "./packages.mjs";

const usage = `Usage: pnpm check:packages [--short] [--keep DIR | --tarballs DIR]

Packs all public packages and checks the tarballs: contents, sizes, hashes, glibc, publint, arethetypeswrong. Then
installs them in a folder with spaces where there is no compiler: ESM, CommonJS, types, a generation with npx.

  --short         with npm and from the tarballs only; otherwise with npm, pnpm and yarn from a local registry too
  --keep DIR      leave the tarballs there
  --tarballs DIR  take those that pack:tarballs left there; nothing is built
  --release       every binary that has a limit must be there
  --without LIST  leave these packages out, by name; for work in progress`;

/** Runs a step and says how long it took. */
async function step(title, body) {
  const startMs = performance.now();
  const said = await body();
  console.log(`ok: ${title}${said ? `: ${said}` : ""} (${seconds(startMs)})`);
}

function table(rows) {
  const cells = rows.map(({ what, kib, limit }) => [what, kib.toFixed(0), String(limit)]);
  const all = [["what", "KiB", "limit"], ...cells];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column].length)));
  const line = (row) => row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("  ");
  return all.map(line).join("\n");
}

async function checkTarballs(tarballs, release) {
  const { inspect, limits } = await import("./contents.mjs");
  const { publintFaults, typesFaults } = await import("./lint.mjs");
  const rows = [];
  const faults = [];
  for (const tarball of tarballs) {
    const found = inspect(tarball, release);
    rows.push(...found.rows);
    const linted = [...(await publintFaults(tarball, found.manifest)), ...(await typesFaults(tarball, found.manifest))];
    faults.push(...[...found.faults, ...linted].map((fault) => `${found.name}: ${fault}`));
  }
  const missing = Object.keys(limits.files).filter((path) => !rows.some(({ what }) => what === path));
  if (release) faults.push(...missing.map((path) => `${path} is missing`));
  console.log(table(rows));
  if (faults.length > 0) throw new Failure(`${faults.length} faults:\n  ${faults.join("\n  ")}`);
}

async function checkFootprint() {
  const { isFresh } = await import("./footprint.mjs");
  if (!isFresh()) throw new Failure("docs/packages.md is stale: run `node tooling/check/packages/footprint.mjs`");
}

/** Uses an installed project in every way a stranger would. */
async function useProject(folder, { packages, env, manager }) {
  const { checkGeneration, checkImports, checkPrograms, checkTypes } = await import("./consumer.mjs");
  const libraries = packages.filter(({ manifest }) => manifest.types).map(({ manifest }) => manifest.name);
  await step(`${manager}: ESM and CommonJS of ${libraries.length} packages`, () =>
    checkImports(folder, libraries, env),
  );
  await step(`${manager}: types under node16 and bundler`, () => checkTypes(folder, libraries));
  await step(`${manager}: programs`, () => checkPrograms(folder, packages, env));
  await step(`${manager}: npx vd-generate`, () => `${checkGeneration(folder, env, manager)} bytes of video`);
}

async function checkInstalled(workDir, { packages, tarballs, env }) {
  const { installProject } = await import("./consumer.mjs");
  const folder = join(workDir, "a project from tarballs");
  const names = packages.map(({ manifest }) => manifest.name);
  const dependencies = Object.fromEntries(names.map((name, i) => [name, `file:${tarballs[i]}`]));
  await step(
    "npm: installed from tarballs, no compiler on the PATH",
    () => void installProject(folder, { dependencies, env }),
  );
  await useProject(folder, { packages, env, manager: "npm" });
}

/** Installs single packages and runs their examples: nothing else is there. */
async function checkAlone(workDir, env) {
  const { installProject, runExample } = await import("./consumer.mjs");
  for (const [name, example] of Object.entries(examplesOfSingleLibraries())) {
    const folder = join(workDir, `alone ${name.replace("/", " ")}`);
    await step(`${name} alone: examples/${example}`, () => {
      installProject(folder, { dependencies: { [name]: "latest" }, env });
      return runExample(folder, example, env);
    });
  }
}

async function checkRegistry(workDir, { packages, tarballs, env }) {
  const { startRegistry } = await import("./registry.mjs");
  const { installProject, MANAGERS } = await import("./consumer.mjs");
  const registry = await startRegistry(workDir);
  try {
    await step("published to a local registry", () => registry.publish(tarballs));
    for (const manager of Object.keys(MANAGERS)) {
      const folder = join(workDir, `a project of ${manager}`);
      const dependencies = Object.fromEntries(packages.map(({ manifest }) => [manifest.name, manifest.version]));
      const local = { ...env, ...registry.environment(manager) };
      await step(
        `${manager}: installed from the registry`,
        () => void installProject(folder, { manager, dependencies, env: local }),
      );
      await useProject(folder, { packages, env: local, manager });
    }
    await checkAlone(workDir, { ...env, ...registry.environment("npm") });
  } finally {
    await registry.stop();
  }
}

await runMain("check:packages", async () => {
  const options = {
    short: { type: "boolean" },
    keep: { type: "string" },
    tarballs: { type: "string" },
    without: { type: "string", default: "" },
    release: { type: "boolean", default: false },
    help: { type: "boolean" },
  };
  const {
    short,
    keep,
    tarballs: packed,
    without,
    release,
    help,
  } = parseArgs({
    options,
    args: process.argv.slice(2).filter((word) => word !== "--"),
  }).values;
  if (help) return console.log(usage);
  const startMs = performance.now();
  const workDir = mkdtempSync(join(tmpdir(), "vd packages "));
  try {
    // With packages left out the others are taken as they are: the workspace may not build.
    if (!without && !packed) await prepareWorkspace();
    const packages = publicPackages().filter(({ manifest }) => !without.split(",").includes(manifest.name));
    const tarballDir = keep ?? join(workDir, "tarballs");
    mkdirSync(tarballDir, { recursive: true });
    let tarballs = packed && packages.map(({ manifest }) => tarballOf(manifest, resolve(packed)));
    if (!tarballs)
      await step(`packed ${packages.length} packages`, async () => {
        tarballs = await packAll(packages, tarballDir);
      });
    await step("tarballs", () => checkTarballs(tarballs, release));
    if (!without) await step("docs/packages.md says what each package brings along", checkFootprint);
    const { bareEnvironment } = await import("./consumer.mjs");
    const env = bareEnvironment(workDir);
    await checkInstalled(workDir, { packages, tarballs, env });
    if (!short) await checkRegistry(workDir, { packages, tarballs, env });
    console.log(`\nAll of it works (${seconds(startMs)}, ${tarballs.length} tarballs).`);
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
});
