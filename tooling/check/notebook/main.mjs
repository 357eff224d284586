// Runs the commands of docs/notebooks/t4.ipynb as they are typed, in an empty home, from tarballs of this checkout. Behind
// `pnpm check:notebook`.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { Failure, ROOT, runMain, seconds } from "../../build/workspace.mjs";
import { commandsInTexts, stepsOfNotebook } from "./cells.mjs";

const usage = `Usage: pnpm check:notebook [--tarballs FILE] [--keep]

Runs every command of docs/notebooks/t4.ipynb as it is typed, in an empty home and an empty /content, with the packages of
this checkout. What needs a GPU, a token or Python is named and left out; commands that work on either run on the CPU.

  --tarballs FILE  tarballs.tar from elsewhere, instead of packing this checkout
  --keep           leaves the folder, and says where it is`;

const NOTEBOOK = join(ROOT, "docs/notebooks/t4.ipynb");
/** Where a hosted notebook has its files; here a folder of its own takes its place. */
const CONTENT = "/content";
/** Nobody listens there: what would be fetched is not. */
const NO_HUB = "http://127.0.0.1:9";

/** Whether a program is on this machine and works. */
const works = (program, ...words) => spawnSync(program, words).status === 0;

/** Why a step is left out, as a sentence; undefined for one that is not. */
function reasonToSkip({ kind, command, text }) {
  if (kind === "python") return `is Python of the notebook's own: ${text.split("\n")[0]}`;
  if (kind === "write") return undefined;
  if (command.includes("nvidia-smi") && !works("nvidia-smi")) return "needs an NVIDIA driver";
  if (command.includes("build:cubins") && !works("nvcc", "--version")) return "needs nvcc";
  if (command.includes("build:cubins")) return "compiles for minutes, which check:packages and the workflow do";
  return undefined;
}

/** What may be fetched only by who has a token and accepted a licence: such a command has to come as far as the Hub. */
const isGated = ({ command }) => command?.includes("stabilityai/") ?? false;

/** Whether a command did what it is for: the doctor ends with 1 where it finds a machine slow, which is no fault of the notebook. */
const isDone = (command, { status, said }) =>
  status === 0 || (command.includes("vd-bench doctor") && status === 1 && !/^failed/m.test(said));

/** An environment with nothing of the user's but how packages are fetched, and programs of npm in a folder of its own. */
function environmentOf(folder) {
  const npm = (name) => spawnSync("npm", ["config", "get", name], { encoding: "utf8", cwd: tmpdir() }).stdout.trim();
  const prefix = join(folder, "prefix");
  const home = join(folder, "home");
  for (const made of [home, prefix, join(folder, "content")]) mkdirSync(made, { recursive: true });
  // Certificates and proxies are the machine's; what programs of ours and npm's scripts go by is not.
  const kept = Object.entries(process.env).filter(([name]) => !/^(VD_|HF_|NODE_OPTIONS$|npm_(?!config_))/.test(name));
  return {
    ...Object.fromEntries(kept),
    ...{ HOME: home, PATH: [join(prefix, "bin"), process.env.PATH].join(delimiter), NO_COLOR: "1" },
    ...{ npm_config_prefix: prefix, npm_config_registry: npm("registry"), npm_config_cache: npm("cache") },
    npm_config_update_notifier: "false",
  };
}

/** Runs a command as a notebook does, but for this: what fails before a pipe fails. */
function runShell(command, { env, cwd }) {
  const words = ["-o", "pipefail", "-c", command];
  const { status, stdout, stderr, error } = spawnSync("bash", words, {
    env,
    cwd,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  return { status: error ? -1 : status, said: `${stdout ?? ""}${stderr ?? ""}${error?.message ?? ""}`.trim() };
}

/** Packs this checkout by the notebook's own commands, into the folder that stands for /content. */
function pack(notebook, content) {
  const env = { ...process.env, CI: "true" };
  for (const command of commandsInTexts(notebook)) {
    const reason = reasonToSkip({ kind: "shell", command });
    if (reason) console.log(`skipped: ${command}: ${reason}`);
    else take(command, () => runShell(command.replaceAll(" tarballs", ` ${content}/tarballs`), { env, cwd: ROOT }));
  }
  // The archive has the folder as `tarballs`, as one that was made beside it has.
  take("tar", () => runShell("tar -cf tarballs.tar tarballs && rm -r tarballs", { env, cwd: content }));
}

/** Takes a step and says how it went. @throws Failure */
function take(title, body) {
  const startMs = performance.now();
  const { status, said } = body();
  if (!isDone(title, { status, said })) throw new Failure(`${title}\nended with ${status}:\n${said.slice(-4000)}`);
  console.log(`ok: ${title} (${seconds(startMs)})`);
  const last = said.split("\n").slice(-2).join("\n    ");
  if (last !== "") console.log(`    ${last}`);
}

/** Runs a step of the notebook. here: a text with the folder that stands for /content in its place. */
function runStep(step, { here, env, cwd }) {
  const { kind, command, path, text } = step;
  const reason = reasonToSkip(step);
  if (reason) return console.log(`skipped: ${command ?? "a cell"}: ${reason}`);
  if (kind === "write") {
    mkdirSync(dirname(here(path)), { recursive: true });
    writeFileSync(here(path), text);
    return console.log(`ok: ${path} is written`);
  }
  if (!isGated(step)) return take(command, () => runShell(here(command), { env, cwd }));
  const { status, said } = runShell(here(command), { env: { ...env, HF_ENDPOINT: NO_HUB }, cwd });
  if (status !== 1 || !said.includes(NO_HUB))
    throw new Failure(`${command}\ndoes not ask the Hub: ${status} ${said.slice(-1000)}`);
  console.log(`skipped: ${command}: needs a token, an accepted licence and gigabytes; it comes as far as the Hub`);
}

await runMain("check:notebook", async () => {
  const options = { tarballs: { type: "string" }, keep: { type: "boolean" }, help: { type: "boolean" } };
  const { values } = parseArgs({ options, args: process.argv.slice(2).filter((word) => word !== "--") });
  if (values.help) return console.log(usage);
  const notebook = JSON.parse(readFileSync(NOTEBOOK, "utf8"));
  const folder = mkdtempSync(join(tmpdir(), "vd-notebook-"));
  const content = join(folder, "content");
  try {
    const env = environmentOf(folder);
    if (values.tarballs) cpSync(values.tarballs, join(content, "tarballs.tar"));
    else pack(notebook, content);
    const here = (written) => written.replaceAll(CONTENT, content);
    for (const step of stepsOfNotebook(notebook)) runStep(step, { here, env, cwd: content });
    const clip = join(content, "vd/clip.mp4");
    if (!existsSync(clip) || readFileSync(clip).toString("latin1", 4, 8) !== "ftyp")
      throw new Failure("no clip was made.");
    console.log(`ok: the clip has ${readFileSync(clip).length} bytes`);
  } finally {
    if (values.keep) console.log(folder);
    else rmSync(folder, { recursive: true, force: true });
  }
});
