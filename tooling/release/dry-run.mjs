// A release to a registry on this machine, by the steps of .github/workflows/release.yml themselves: every job in a clone of
// the committed state, artifacts between them, packages published, and installed and used by a stranger. Behind
// `pnpm release:dry-run`.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Failure, ROOT, runMain, seconds } from "../build/workspace.mjs";
import { run } from "../check/packages/packages.mjs";
import { startRegistry } from "../check/packages/registry.mjs";
import { ACTIONS } from "./actions.mjs";
import { putStandIns } from "./stand-ins.mjs";
import { checkPublished } from "./stranger.mjs";
import { actionOf, fillIn, orderedJobs } from "./workflow.mjs";

const WORKFLOW = join(ROOT, ".github/workflows/release.yml");
const usage = `Usage: pnpm release:dry-run [--device-code DIR] [--addons DIR] [--stand-ins] [--list]

  --device-code DIR  take the device code from there, such as packages/kernels-cuda/images, instead of compiling it
  --addons DIR       take the addons from there, such as packages/kernels-native/prebuilds, instead of compiling them
  --stand-ins        put small files in the places of binaries that the given folders lack, to try the workflow itself
  --list             print the jobs and their steps, and run none`;

/** What stands for the expressions in the workflow's steps. */
const VALUES = { "secrets.GITHUB_TOKEN": "local", "secrets.NPM_TOKEN": "local" };
const GITHUB = { GITHUB_SERVER_URL: "https://github.com", GITHUB_REPOSITORY: "owner/name" };
/** The artifact that a job makes, by the option that names a folder to take it from. */
const ARTIFACTS = { "device-code": "device-code", addons: "addons" };
/** Jobs by the artifact that makes them unnecessary. */
const MAKERS = { "device-code": "device-code", addon: "addons" };

const isForeign = (job) => !String(job["runs-on"]).startsWith("ubuntu");

/** The environment of a step: the job's and its own. A step that publishes talks to the registry here, without provenance,
 *  which only GitHub's machines can prove. */
function environmentOf(job, step, registry) {
  const own = Object.fromEntries(
    Object.entries({ ...job.env, ...step.env }).map(([name, value]) => [name, fillIn(value, VALUES)]),
  );
  const publishes = "NODE_AUTH_TOKEN" in own;
  const local = publishes ? { ...registry.npmEnvironment, NPM_CONFIG_PROVENANCE: "false" } : {};
  return { ...process.env, CI: "true", ...GITHUB, ...own, ...local };
}

function runStep(step, job, { checkout, artifacts, registry }) {
  const env = environmentOf(job, step, registry);
  const action = actionOf(step);
  if (action !== undefined) {
    if (!ACTIONS[action])
      throw new Failure(`nothing stands in for the action ${action} in tooling/release/actions.mjs.`);
    return ACTIONS[action](step.with ?? {}, { checkout, artifacts, env });
  }
  const shell = step.shell ?? "bash";
  run(shell, ["-eo", "pipefail", "-c", fillIn(step.run, VALUES)], {
    cwd: join(checkout, step["working-directory"] ?? "."),
    env,
  });
  return "";
}

const titleOf = (step) => (step.uses ? `uses ${step.uses}` : step.run.trim().split("\n")[0]);

function runJob({ name, job }, context) {
  const checkout = join(context.folder, `job ${name}`);
  run("git", ["clone", "--quiet", context.origin, checkout]);
  for (const step of job.steps) {
    const startMs = performance.now();
    const said = runStep(step, job, { ...context, checkout });
    console.log(`ok: ${name}: ${titleOf(step)}${said ? `: ${said}` : ""} (${seconds(startMs)})`);
  }
}

/** Artifacts that are given instead of made. */
function takeArtifacts(values, artifacts) {
  return Object.keys(ARTIFACTS).filter((name) => {
    if (values[name] === undefined) return false;
    const source = resolve(values[name]);
    if (readdirSync(source).length === 0) throw new Failure(`--${name}: ${source} is empty.`);
    cpSync(source, join(artifacts, ARTIFACTS[name]), { recursive: true });
    return true;
  });
}

async function release(values, folder) {
  const origin = join(folder, "origin.git");
  const artifacts = join(folder, "artifacts");
  mkdirSync(artifacts);
  // The committed state, on the branch that releases come from.
  run("git", ["clone", "--quiet", "--bare", ROOT, origin]);
  run("git", ["--git-dir", origin, "update-ref", "refs/heads/main", run("git", ["rev-parse", "HEAD"]).trim()]);
  run("git", ["--git-dir", origin, "symbolic-ref", "HEAD", "refs/heads/main"]);
  const given = takeArtifacts(values, artifacts);
  if (values["stand-ins"])
    for (const path of putStandIns(artifacts, given)) console.log(`stand-in: ${path}: no such binary was given`);
  const registry = await startRegistry(folder);
  try {
    for (const each of orderedJobs(WORKFLOW)) {
      if (given.includes(MAKERS[each.name]))
        console.log(`given: ${each.name}: its files come from --${MAKERS[each.name]}`);
      else if (isForeign(each.job)) console.log(`not run: ${each.name}: needs ${each.job["runs-on"]}`);
      else runJob(each, { folder, origin, artifacts, registry });
    }
    const tags = run("git", ["--git-dir", origin, "tag"]).trim().split("\n").filter(Boolean);
    console.log(await checkPublished(folder, registry, tags));
  } finally {
    await registry.stop();
  }
}

await runMain("release:dry-run", async () => {
  const options = {
    "device-code": { type: "string" },
    addons: { type: "string" },
    "stand-ins": { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  };
  const { values } = parseArgs({ options, args: process.argv.slice(2).filter((word) => word !== "--") });
  if (values.help) return console.log(usage);
  if (values.list) {
    for (const { name, job } of orderedJobs(WORKFLOW))
      console.log([`${name} (${job["runs-on"]})`, ...job.steps.map((step) => `  ${titleOf(step)}`)].join("\n"));
    return;
  }
  const startMs = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "vd release "));
  try {
    await release(values, folder);
    console.log(`\nThe release works (${seconds(startMs)}).`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
