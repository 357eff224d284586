// A registry on this machine for a few minutes: verdaccio, which hands on what it does not have itself.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ROOT } from "../../build/workspace.mjs";
import { run } from "./packages.mjs";

/** The last that runs on Node.js 20. One of its dependencies asks for a tag of node-fetch that not every mirror has. */
const VERDACCIO = { dependencies: { verdaccio: "6.8.0" }, overrides: { "node-fetch": "2.7.0" } };
const START_LIMIT_MS = 60_000;

/** The program, installed into build/ once. */
function install() {
  const folder = join(ROOT, "build/verdaccio");
  const program = join(folder, "node_modules/verdaccio/bin/verdaccio");
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify({ name: "registry", private: true, ...VERDACCIO })}\n`);
  run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: folder });
  return program;
}

/** Resolves to a port that is free now. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const configOf = (storage, uplink) => `storage: ${JSON.stringify(storage)}
uplinks: { npmjs: { url: ${JSON.stringify(uplink)}, timeout: 60s } }
packages:
  "@vd/*": { access: $all, publish: $all }
  "**": { access: $all, proxy: npmjs }
auth: { htpasswd: { file: ./htpasswd } }
max_body_size: 200mb
log: { type: stdout, format: pretty, level: error }
`;

async function waitFor(url, child) {
  const end = Date.now() + START_LIMIT_MS;
  while (Date.now() < end) {
    if (child.exitCode !== null) throw new Error(`verdaccio ended with ${child.exitCode}`);
    const answers = await fetch(`${url}-/ping`).then(
      (response) => response.ok,
      () => false,
    );
    if (answers) return;
    await sleep(200);
  }
  throw new Error(`verdaccio did not answer within ${START_LIMIT_MS / 1000} s`);
}

/** Starts a registry whose files lie in `workDir`. */
export async function startRegistry(workDir) {
  const folder = join(workDir, "registry");
  mkdirSync(folder, { recursive: true });
  const uplink = run("npm", ["config", "get", "registry"]).trim();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const config = join(folder, "config.yaml");
  writeFileSync(config, configOf(join(folder, "storage"), uplink));
  // npm publishes with some token, whatever it is; pnpm and yarn read the same file.
  const userConfig = join(folder, "npmrc");
  writeFileSync(userConfig, `registry=${url}\n//127.0.0.1:${port}/:_authToken=local\n`);
  const child = spawn(process.execPath, [install(), "--config", config, "--listen", `127.0.0.1:${port}`], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  await waitFor(url, child);
  const npmEnvironment = { NPM_CONFIG_USERCONFIG: userConfig, npm_config_registry: url };
  return {
    /** What makes npm and pnpm publish here. */
    npmEnvironment,
    publish(tarballs) {
      const env = { ...process.env, ...npmEnvironment };
      for (const tarball of tarballs)
        run("npm", ["publish", tarball, "--access", "public", "--tag", "latest"], { env });
      return `${tarballs.length} packages`;
    },
    /** What makes a package manager use this registry, with caches of its own. */
    environment(manager) {
      const cache = join(workDir, `cache of ${manager}`);
      // The package manager itself comes through npx from the same registry.
      return {
        ...npmEnvironment,
        npm_config_cache: join(workDir, "cache of npm"),
        npm_config_store_dir: cache,
        YARN_REGISTRY: url,
        YARN_CACHE_FOLDER: cache,
      };
    },
    async stop() {
      if (child.exitCode !== null) return;
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await gone;
    },
  };
}
