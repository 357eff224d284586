// Electron: packs the example into an asar archive, with the native files beside it, and lets the packed app make a video.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../packages/packages.mjs";
import { installExample, isMovie, MODEL, PICTURE } from "./project.mjs";

const LIMIT_MS = 120_000;
const RESOURCES = "dist/linux-unpacked/resources";

/** Why Electron cannot be tried in a project, as a sentence; undefined where it can. Its npm package downloads the program,
 *  which not every network allows. */
function whySkip(project) {
  const install = join(project, "node_modules/electron/install.js");
  const got = spawnSync(process.execPath, [install], { cwd: project, encoding: "utf8", timeout: LIMIT_MS });
  if (!existsSync(join(project, "node_modules/electron/dist/electron")))
    return `electron's program cannot be downloaded here: ${/Error: .*/.exec(got.stderr)?.[0] ?? `status ${got.status}`}`;
  if (spawnSync("xvfb-run", ["--help"]).status !== 0)
    return "xvfb-run not found (Debian, Ubuntu: apt-get install xvfb)";
  return undefined;
}

/** Native files that must lie beside the archive, where the system can load them; as sentences what is missing. */
function missingFiles(project) {
  const unpacked = readdirSync(join(project, RESOURCES, "app.asar.unpacked"), { recursive: true, encoding: "utf8" });
  const images = readdirSync(join(project, "node_modules/@vd/kernels-cuda/images"));
  const wanted = ["vd-native.node", ...images.map((name) => `kernels-cuda/images/${name}`)];
  return wanted
    .filter((path) => !unpacked.some((file) => file.endsWith(path)))
    .map((path) => `${path} is not unpacked`);
}

/** Packs and uses the example. Resolves to a sentence about it and what is wrong, or why it cannot be tried. */
export async function checkElectron() {
  const project = await installExample("electron", ["--ignore-scripts"]);
  const skipped = whySkip(project);
  if (skipped) return { skipped };
  run("npx", ["--no-install", "electron-builder", "--linux", "--dir", "--publish", "never"], { cwd: project });
  const faults = missingFiles(project);
  const program = join(project, "dist/linux-unpacked/vd-example-electron");
  const words = ["-a", program, "--no-sandbox", "--headless", MODEL, PICTURE];
  const { status, stdout, stderr } = spawnSync("xvfb-run", words, { encoding: "utf8", timeout: LIMIT_MS });
  const line = stdout.split("\n").find((text) => text.startsWith("{"));
  if (status !== 0 || !line)
    return { faults: [...faults, `the app ended with ${status}: ${stdout}${stderr}`.slice(0, 1500)] };
  const { electron, path, devices } = JSON.parse(line);
  if (!isMovie(readFileSync(path))) faults.push(`${path} is no movie`);
  if (!devices[0].usable) faults.push(`the CPU is not usable: ${devices[0].reason}`);
  return { said: `${electron}: a video from a packed app, the native files beside its asar archive`, faults };
}
