// What stands in for the actions that a workflow uses: the checkout is there already, artifacts are folders on this machine.
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { run } from "../check/packages/packages.mjs";

/** Where the part of a path begins that artifacts keep: after the last folder before a wildcard. */
function rootOf(patterns) {
  const folders = patterns.map((pattern) => pattern.split("/*")[0]);
  return folders.every((folder) => folder === folders[0]) ? folders[0] : ".";
}

/** Files below a path, itself if it is one. */
function filesBelow(path) {
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .map((name) => join(path, name))
    .filter((each) => statSync(each).isFile());
}

/** Files of a checkout that patterns with `*` for one name match. */
function matches(checkout, pattern) {
  return pattern.split("/").reduce(
    (folders, part) =>
      folders.flatMap((folder) => {
        if (part !== "*") return [join(folder, part)];
        return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
      }),
    [checkout],
  );
}

/** Keeps files as an artifact. Throws where there are none and that is an error.
 *  @param {{ name: string, path: string, "if-no-files-found"?: string }} inputs
 *  @param {{ checkout: string, artifacts: string }} context */
function upload({ name, path, "if-no-files-found": ifNone }, { checkout, artifacts }) {
  const patterns = path.trim().split(/\s+/);
  const root = join(checkout, rootOf(patterns));
  const files = patterns.flatMap((pattern) => matches(checkout, pattern)).flatMap(filesBelow);
  if (files.length === 0 && ifNone === "error")
    throw new Error(`artifact ${name}: no files for ${patterns.join(", ")}`);
  const target = join(artifacts, name);
  rmSync(target, { recursive: true, force: true });
  for (const file of files) {
    const copy = join(target, relative(root, file));
    mkdirSync(dirname(copy), { recursive: true });
    cpSync(file, copy);
  }
  return `${files.length} files kept as ${name}`;
}

/** Puts an artifact's files into the checkout. */
function download({ name, path }, { checkout, artifacts }) {
  const source = join(artifacts, name);
  if (!existsSync(source)) throw new Error(`artifact ${name}: no job before kept it`);
  cpSync(source, join(checkout, path), { recursive: true });
  return `${filesBelow(source).length} files of ${name}`;
}

/** Takes the pending changesets into versions and changelogs, as merging their pull request does. */
function version({ version: command }, { checkout, env }) {
  run("bash", ["-ec", command], { cwd: checkout, env });
  if (run("git", ["status", "--porcelain"], { cwd: checkout }).trim() === "") return "no changesets are pending";
  run("git", ["add", "--all"], { cwd: checkout });
  const author = ["-c", "user.name=release", "-c", "user.email=release@localhost"];
  run("git", [...author, "commit", "--quiet", "--no-verify", "--message", "Version packages"], { cwd: checkout });
  run("git", ["push", "--quiet", "origin", "HEAD"], { cwd: checkout });
  return "the pending changesets are a commit now";
}

/** Each takes the step's `with` and { checkout, artifacts, env }, and returns a sentence on what it did. */
export const ACTIONS = {
  "actions/checkout": () => "the job's own clone",
  "actions/setup-node": () => `Node.js ${process.versions.node}, which runs here`,
  "actions/upload-artifact": upload,
  "actions/download-artifact": download,
  "changesets/action": version,
};
