// A workflow of GitHub Actions as data: its jobs in the order in which they may run, and their steps with what stands between
// `${{ }}` filled in.
import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** Jobs of a workflow file by their `needs`, each after those that it needs: { name, job }. Throws for a circle or a need
 *  that is no job. */
export function orderedJobs(path) {
  const { jobs } = parse(readFileSync(path, "utf8"));
  const ordered = new Map();
  const add = (name, behind = []) => {
    if (!jobs[name] || behind.includes(name)) throw new Error(`${path}: job ${name}, needed by ${behind.join(", ")}`);
    for (const need of [jobs[name].needs ?? []].flat()) if (!ordered.has(need)) add(need, [...behind, name]);
    ordered.set(name, { name, job: jobs[name] });
  };
  for (const name of Object.keys(jobs)) if (!ordered.has(name)) add(name);
  return [...ordered.values()];
}

/** A text with its expressions replaced by `values`, by what stands in them: `secrets.NPM_TOKEN`. Throws for one that is
 *  not known. */
export function fillIn(text, values) {
  return String(text).replace(/\$\{\{\s*(.*?)\s*\}\}/g, (_, expression) => {
    if (!(expression in values)) throw new Error(`no value for the expression ${expression}`);
    return values[expression];
  });
}

/** The name of an action without its version: `actions/checkout@v4` → `actions/checkout`. */
export const actionOf = (step) => step.uses?.split("@")[0];
