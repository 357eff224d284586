// Next.js: builds the example with standalone output, moves that elsewhere and asks its route handler for a video.
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run } from "../packages/packages.mjs";
import { freePort } from "../packages/registry.mjs";
import { installExample, isMovie, MODEL, PICTURE } from "./project.mjs";

const START_LIMIT_MS = 60_000;

/** What the standalone server lacks of native files, as sentences. */
function missingFiles(standalone, project) {
  const files = readdirSync(standalone, { recursive: true, encoding: "utf8" });
  const images = readdirSync(join(project, "node_modules/@vd/kernels-cuda/images"));
  const wanted = [
    `kernels-native/prebuilds/${process.platform}-${process.arch}/vd-native.node`,
    ...images.map((name) => `kernels-cuda/images/${name}`),
  ];
  const lost = wanted.filter((path) => !files.some((file) => file.endsWith(`@vd/${path}`)));
  return { faults: lost.map((path) => `standalone lacks ${path}`), numFiles: wanted.length };
}

/** Waits until the server answers. Resolves to its devices. */
async function devicesOf(url, server) {
  const end = Date.now() + START_LIMIT_MS;
  while (Date.now() < end && server.exitCode === null) {
    const answer = await fetch(`${url}/api/video`).catch(() => undefined);
    if (answer?.ok) return answer.json();
    if (answer) throw new Error(`the route handler answers ${answer.status}: ${(await answer.text()).slice(0, 600)}`);
    await sleep(200);
  }
  throw new Error(`the server did not answer: exit ${server.exitCode}`);
}

/** Asks for a video, and for one of something that is no picture. Returns what is wrong, as sentences. */
async function askForVideos(url) {
  const post = (bytes) => {
    const body = new FormData();
    body.set("picture", new Blob([bytes]), "picture.png");
    return fetch(`${url}/api/video`, { method: "POST", body });
  };
  const answer = await post(readFileSync(PICTURE));
  const bytes = Buffer.from(await answer.arrayBuffer());
  const faults = isMovie(bytes) ? [] : [`the answer is no movie: ${answer.status} ${bytes.toString("utf8", 0, 600)}`];
  const refused = await post(Buffer.from("no picture"));
  const said = await refused.text();
  if (refused.status !== 400 || !said.includes("expected a picture"))
    faults.push(`no picture: ${refused.status} ${said}`);
  return faults;
}

/** Builds and uses the example. Resolves to a sentence about it and what is wrong. */
export async function checkNext() {
  const project = await installExample("next");
  run("npx", ["--no-install", "next", "build"], {
    cwd: project,
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1" },
  });
  const folder = mkdtempSync(join(tmpdir(), "vd next "));
  const standalone = join(folder, "server");
  cpSync(join(project, ".next/standalone"), standalone, { recursive: true, verbatimSymlinks: true });
  const port = await freePort();
  const server = spawn(process.execPath, ["server.js"], {
    cwd: standalone,
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, PORT: String(port), HOSTNAME: "127.0.0.1", MODEL, VD_VERIFY: "" },
  });
  try {
    const { faults, numFiles } = missingFiles(standalone, project);
    const url = `http://127.0.0.1:${port}`;
    const devices = await devicesOf(url, server);
    if (!devices[0]?.usable) faults.push(`the CPU is not usable: ${JSON.stringify(devices)}`);
    faults.push(...(await askForVideos(url)));
    return { said: `a route handler's video from standalone output with its ${numFiles} native files`, faults };
  } finally {
    server.kill("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  }
}
