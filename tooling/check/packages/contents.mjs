// What may be in a tarball, how large it may be, and whether its binaries are those of its manifest.
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../build/workspace.mjs";
import { portabilityFaults } from "./glibc-floor.mjs";
import { bytesOf, entriesOf, run } from "./packages.mjs";

const EVERYWHERE = [/^package\.json$/, /^README\.md$/, /^LICENSE$/, /^CHANGELOG\.md$/];
const CODE = /^dist\/[\w./-]+\.(js|cjs|mjs|d\.ts|d\.cts|js\.map|cjs\.map|css|html)$/;
/** What else a package has, by name. */
const OTHERS = {
  "@vd/kernels-native": [
    /^prebuilds\/[a-z0-9]+-(x64|arm64)\/(manifest\.json|vd-native\.node)$/,
    /^lib\/\w+\.(cjs|d\.cts)$/,
  ],
  "@vd/kernels-cuda": [/^index\.js$/, /^images\/(manifest\.json|\w+\.(fatbin|ptx))$/],
  "@vd/model-tiny-svd": [
    /^(MODEL_CARD\.md|model_index\.json)$/,
    /^(feature_extractor|image_encoder|scheduler|unet|vae)\/[\w.]+\.(json|safetensors)$/,
    /^samples\/[\w.-]+\.(png|webp)$/,
  ],
  "@vd/model-tiny-live": [
    /^(MODEL_CARD\.md|live\.json)$/,
    /^unet\/[\w.]+\.(json|safetensors)$/,
    /^start\/[\w-]+\.png$/,
  ],
  "@vd/generate": [/^schema\/[\w.]+\.schema\.json$/, /^man\/[\w-]+\.1$/],
  "@vd/studio": [
    /^dist\/web\/[\w./-]+\.(woff2|svg|png|webp|md)$/,
    /^deploy\/[\w.-]+\.(yaml|service)$/,
    /^man\/[\w-]+\.1$/,
  ],
  "@vd/live-app": [/^man\/[\w-]+\.1$/],
  "@vd/profiler": [/^schema\/[\w.]+\.schema\.json$/],
  "@vd/bench": [/^peers\/[\w./-]+\.(py|json|md|txt)$/],
};
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall", "preuninstall", "uninstall", "postuninstall"];
const KIB = 1024;

/** Limits in KiB: `packed` and `unpacked` by package, `files` by path in the package that has it. */
export const limits = JSON.parse(readFileSync(new URL("limits.json", import.meta.url), "utf8"));

/** What is wrong with the names in a tarball and with its package.json, as sentences. */
export function contentFaults(name, entries, manifest) {
  const allowed = [...EVERYWHERE, CODE, ...(OTHERS[name] ?? [])];
  const strangers = entries.filter(({ path }) => !allowed.some((pattern) => pattern.test(path)));
  const scripts = INSTALL_SCRIPTS.filter((script) => manifest.scripts?.[script]);
  const links = Object.entries({
    ...manifest.dependencies,
    ...manifest.optionalDependencies,
    ...manifest.peerDependencies,
  }).filter(([, range]) => /^(workspace|file|link|catalog):/.test(range));
  const missing = ["README.md", "LICENSE"].filter((path) => !entries.some((entry) => entry.path === path));
  return [
    ...strangers.map(({ path }) => `${path} should not be in the tarball`),
    ...missing.map((path) => `${path} is missing`),
    ...scripts.map((script) => `the script ${script} runs at the user's`),
    ...links.map(([dependency, range]) => `depends on ${dependency} as ${range}`),
  ];
}

/** Names of this machine that slipped into a text. */
function leaks(dir, entries) {
  const words = [ROOT, homedir() === "/root" ? "/root/" : homedir()];
  return entries
    .filter(({ path }) => /\.(js|cjs|mjs|ts|cts|map|json|md)$/.test(path))
    .filter(({ path }) => words.some((word) => readFileSync(join(dir, path), "utf8").includes(word)))
    .map(({ path }) => `${path} names a folder of the machine it was built on`);
}

/** A binary: its folder and its name. */
const BINARY = /^(prebuilds\/[^/]+|images)\/([^/]+\.(?:node|fatbin|ptx))$/;

const manifestOf = (dir, folder) => JSON.parse(readFileSync(join(dir, folder, "manifest.json"), "utf8"));

/** Folders with binaries in a tarball. */
const foldersOf = (entries) => [...new Set(entries.flatMap(({ path }) => BINARY.exec(path)?.[1] ?? []))];

/** Whether every binary is in its folder's manifest with its hash, and nothing else is. */
function manifestFaults(dir, entries) {
  return foldersOf(entries).flatMap((folder) => {
    const { files } = manifestOf(dir, folder);
    const names = entries.flatMap(({ path }) => (BINARY.exec(path)?.[1] === folder ? [BINARY.exec(path)[2]] : []));
    const changed = names.filter((name) => {
      const bytes = readFileSync(join(dir, folder, name));
      return files[name]?.sha256 !== createHash("sha256").update(bytes).digest("hex");
    });
    const lost = Object.keys(files).filter((name) => !names.includes(name));
    return [
      ...changed.map((name) => `${folder}/${name} is not the one of its manifest`),
      ...lost.map((name) => `${folder}/${name} is in the manifest but not in the tarball`),
    ];
  });
}

/** Whether all addons of a release were built from the same sources. */
function originFaults(dir, entries) {
  const sources = new Set(foldersOf(entries).map((folder) => manifestOf(dir, folder).built.sources));
  return sources.size === 1
    ? []
    : [`the addons come from ${sources.size} states of the sources: \`pnpm build:prebuilds\``];
}

/** Rows of the size table: what, KiB, limit. */
export function sizes(name, tarball, entries) {
  const limit = limits.packages[name];
  const unpacked = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  const rows = [
    { what: `${name} (packed)`, kib: bytesOf(tarball) / KIB, limit: limit?.packed },
    { what: `${name} (unpacked)`, kib: unpacked / KIB, limit: limit?.unpacked },
  ];
  const binaries = entries.filter(({ path }) => BINARY.test(path));
  return [...rows, ...binaries.map(({ path, bytes }) => ({ what: path, kib: bytes / KIB, limit: limits.files[path] }))];
}

function sizeFaults(rows) {
  return rows.flatMap(({ what, kib, limit }) => {
    if (limit === undefined) return [`${what} has no limit in tooling/check/packages/limits.json`];
    return kib > limit ? [`${what} has ${kib.toFixed(0)} KiB, more than ${limit}`] : [];
  });
}

/** Everything that is wrong with a tarball, and its rows of the size table. release: it is about to be published. */
export function inspect(tarball, release = false) {
  const dir = mkdtempSync(join(tmpdir(), "vd-tarball-"));
  try {
    run("tar", ["-xzf", tarball, "-C", dir, "--strip-components=1"]);
    const manifest = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
    const entries = entriesOf(tarball);
    const rows = sizes(manifest.name, tarball, entries);
    const faults = [...contentFaults(manifest.name, entries, manifest), ...leaks(dir, entries), ...sizeFaults(rows)];
    faults.push(...manifestFaults(dir, entries));
    if (manifest.name === "@vd/kernels-native") {
      if (release) faults.push(...originFaults(dir, entries));
      for (const { path } of entries.filter(({ path }) => /^prebuilds\/linux-.*\.node$/.test(path)))
        faults.push(...portabilityFaults(join(dir, path)).map((fault) => `${path}: ${fault}`));
    }
    return { name: manifest.name, manifest, rows, faults };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
