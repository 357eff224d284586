// What somebody finds who installs a release from the registry.
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { publicPackages } from "../build/packages.mjs";
import { Failure } from "../build/workspace.mjs";
import { run } from "../check/packages/packages.mjs";

const MIB = 2 ** 20;
/** Most that the package with the device code may take unpacked. */
const DEVICE_CODE_MIB = 60;

/** Bytes of the files below a folder. */
const bytesBelow = (dir) =>
  readdirSync(dir, { recursive: true, encoding: "utf8" })
    .map((name) => statSync(join(dir, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);

/** Installs the app from the registry into an empty project with an empty home, and makes a video with verified binaries; checks that every public package is there
 *  with a tag of its own, and how large the device code is. Resolves to a sentence. Throws Failure for what is wrong. */
export async function checkPublished(folder, registry, tags) {
  const { bareEnvironment, checkGeneration, installProject } = await import("../check/packages/consumer.mjs");
  const names = publicPackages().map(({ manifest }) => manifest.name);
  const home = join(folder, "an empty home");
  mkdirSync(home);
  const env = { ...bareEnvironment(folder), ...registry.environment("npm"), HOME: home };
  const versionOf = (name) => JSON.parse(run("npm", ["view", name, "version", "--json"], { env }));
  const published = names.map((name) => ({ name, version: versionOf(name) }));
  const untagged = published.filter(({ name, version }) => !tags.includes(`${name}@${version}`));
  if (untagged.length > 0)
    throw new Failure(`no tag for ${untagged.map(({ name }) => name).join(", ")}: ${tags.join(", ")}`);
  const project = join(folder, "a stranger's project");
  installProject(project, { dependencies: { "@vd/generate": "latest" }, env });
  const cuda = join(project, "node_modules/@vd/kernels-cuda");
  const mib = bytesBelow(cuda) / MIB;
  if (!(mib > 0 && mib <= DEVICE_CODE_MIB))
    throw new Failure(`@vd/kernels-cuda has ${mib} MiB, more than ${DEVICE_CODE_MIB}`);
  const images = readdirSync(join(cuda, "images"));
  const found = run("node", ["-e", 'console.log(require("@vd/kernels-native").imageDir())'], {
    cwd: project,
    env,
  }).trim();
  if (readdirSync(found).length !== images.length) throw new Failure(`the device code is looked for in ${found}`);
  const bytes = checkGeneration(project, env);
  return `ok: ${names.length} packages of version ${published[0].version} in the registry, tagged; @vd/kernels-cuda has ${images.length - 1} images, ${mib.toFixed(1)} MiB unpacked, found without configuration; a stranger's video has ${bytes} bytes`;
}
