// Small files in the places of binaries that a machine cannot make, so that the release workflow can be tried without them.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describeBinaries, readManifest } from "../build/addon/manifest.mjs";
import { limits } from "../check/packages/contents.mjs";

/** Where the artifacts have the files of the packages, by how these begin. */
const PLACES = { "prebuilds/": "addons", "images/": "device-code" };

/** Puts stand-ins into the given artifacts for the files that a release must have and they lack, with manifests that say so.
 *  Returns the files' paths in their packages. */
export function putStandIns(artifacts, given) {
  const wanted = Object.keys(limits.files).flatMap((path) => {
    const [prefix, artifact] = Object.entries(PLACES).find(([start]) => path.startsWith(start));
    const file = join(artifacts, artifact, path.slice(prefix.length));
    return given.includes(artifact) && !existsSync(file) ? [{ path, file }] : [];
  });
  for (const { path, file } of wanted) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `stands for ${path}`);
    refreshManifest(dirname(file), join(artifacts, "addons/linux-x64"));
  }
  return wanted.map(({ path }) => path);
}

/** Writes the manifest of a folder, whose files count as built from the sources of those in `like` where it has none yet. */
function refreshManifest(dir, like) {
  const own = readManifest(dir);
  const { format, built } = own.built.sources === undefined ? readManifest(like) : own;
  const manifest = { format, built, files: describeBinaries(dir) };
  writeFileSync(join(dir, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}
