// What may be in a tarball, how large it may be, and whether its binaries are those of its manifest.
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { portabilityFaults } from "./glibc-floor.mjs";
import { bytesOf, entriesOf, ROOT, run } from "./packages.mjs";

const EVERYWHERE = [/^package\.json$/, /^README\.md$/, /^LICENSE$/, /^CHANGELOG\.md$/];
const CODE = /^dist\/[\w./-]+\.(js|cjs|mjs|d\.ts|d\.cts|js\.map|cjs\.map|css|html)$/;
/** What else a package has, by name. */
const OTHERS = {
  "@vd/kernels-native": [/^prebuilds\/(manifest\.json|[a-z0-9]+-x64\/vd-native\.node|cuda\/\w+\.fatbin)$/],
  "@vd/model-tiny-svd": [
    /^(MODEL_CARD\.md|model_index\.json)$/,
    /^(feature_extractor|image_encoder|scheduler|unet|vae)\/[\w.]+\.(json|safetensors)$/,
    /^samples\/[\w.-]+\.(png|webp)$/,
  ],
  "@vd/bench": [/^peers\/[\w./-]+\.(py|json|md|txt)$/],
};
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall", "preuninstall", "uninstall", "postuninstall"];
const KIB = 1024;

/** Limits in KiB: `packed` and `unpacked` by package, `files` by path in @vd/kernels-native. */
export const limits = JSON.parse(readFileSync(new URL("limits.json", import.meta.url), "utf8"));

/** What is wrong with the names in a tarball and with its package.json, as sentences. */
export function contentFaults(name, entries, manifest) {
  const allowed = [...EVERYWHERE, CODE, ...(OTHERS[name] ?? [])];
  const strangers = entries.filter(({ path }) => !allowed.some((pattern) => pattern.test(path)));
  const scripts = INSTALL_SCRIPTS.filter((script) => manifest.scripts?.[script]);
  const links = Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies }).filter(([, range]) =>
    /^(workspace|file|link|catalog):/.test(range),
  );
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

/** Whether every binary is in the manifest with its size and hash, and nothing else is. */
function manifestFaults(dir, entries) {
  const { files } = JSON.parse(readFileSync(join(dir, "prebuilds/manifest.json"), "utf8"));
  const binaries = entries.map(({ path }) => path).filter((path) => /^prebuilds\/.+\.(node|fatbin)$/.test(path));
  const faults = binaries.flatMap((path) => {
    const entry = files[path.slice("prebuilds/".length)];
    const sha256 = createHash("sha256")
      .update(readFileSync(join(dir, path)))
      .digest("hex");
    return entry?.sha256 === sha256 ? [] : [`${path} is not the one of prebuilds/manifest.json`];
  });
  const lost = Object.keys(files).filter((path) => !binaries.includes(`prebuilds/${path}`));
  return [...faults, ...lost.map((path) => `prebuilds/${path} is in the manifest but not in the tarball`)];
}

/** Rows of the size table: what, KiB, limit. */
export function sizes(name, tarball, entries) {
  const limit = limits.packages[name];
  const unpacked = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  const rows = [
    { what: `${name} (packed)`, kib: bytesOf(tarball) / KIB, limit: limit?.packed },
    { what: `${name} (unpacked)`, kib: unpacked / KIB, limit: limit?.unpacked },
  ];
  const binaries = entries.filter(({ path }) => /^prebuilds\/.+\.(node|fatbin)$/.test(path));
  return [...rows, ...binaries.map(({ path, bytes }) => ({ what: path, kib: bytes / KIB, limit: limits.files[path] }))];
}

function sizeFaults(rows) {
  return rows.flatMap(({ what, kib, limit }) => {
    if (limit === undefined) return [`${what} has no limit in tooling/pack/limits.json`];
    return kib > limit ? [`${what} has ${kib.toFixed(0)} KiB, more than ${limit}`] : [];
  });
}

/** Everything that is wrong with a tarball, and its rows of the size table. */
export function inspect(tarball) {
  const dir = mkdtempSync(join(tmpdir(), "vd-tarball-"));
  try {
    run("tar", ["-xzf", tarball, "-C", dir, "--strip-components=1"]);
    const manifest = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
    const entries = entriesOf(tarball);
    const rows = sizes(manifest.name, tarball, entries);
    const faults = [...contentFaults(manifest.name, entries, manifest), ...leaks(dir, entries), ...sizeFaults(rows)];
    if (manifest.name === "@vd/kernels-native") {
      faults.push(...manifestFaults(dir, entries));
      faults.push(...portabilityFaults(join(dir, "prebuilds/linux-x64/vd-native.node")));
    }
    return { name: manifest.name, manifest, rows, faults };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
