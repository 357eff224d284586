import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OPS, VdError } from "@vd/kernels-native";
import { fileError, Graph } from "@vd/tensor";
import { ROOT } from "../build/workspace.mjs";
import { camel } from "../generate/ops/names";
import { runScript } from "./run-program";
import { newOpFiles } from "./templates";

/** Longest name of an op: symbols of kernels add to it. */
const LONGEST_NAME = 40;
/** Words that are no name in TypeScript or in C++, of those that an op could be called. */
const RESERVED = new Set([
  ..."abstract alignas alignof and any as asm async auto await bool boolean break byte case catch char class compl concept const".split(
    " ",
  ),
  ..."constexpr continue debugger declare default delete do double else enum eval explicit export extends extern false finally".split(
    " ",
  ),
  ..."float for friend from function get goto if implements import in inline instanceof int interface is let long module".split(
    " ",
  ),
  ..."mutable namespace new noexcept not null number object of operator or package private protected public register requires".split(
    " ",
  ),
  ..."return set short signed sizeof static string struct super switch symbol template this throw true try type typedef typeid".split(
    " ",
  ),
  ..."typeof undefined union unknown unsigned using var virtual void volatile while with xor yield".split(" "),
]);

function fail(expected: string, got: string, hint?: string): never {
  throw new VdError({ code: "attr", where: "OP", expected, got: JSON.stringify(got), hint });
}

const REST = "pnpm gen writes what follows from them.";

/** What to do about a name that is taken: the op may be one whose making was interrupted. */
function takenHint(id: string, folder: string): string {
  const files = `Its files lie in ${folder}`;
  return Object.hasOwn(OPS, id) ? `${files}.` : `${files}, but nothing is generated from them yet: ${REST}`;
}

/** Checks that an op can have the name. folder: of all ops. */
function checkName(id: string, folder: string): void {
  if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(id) || id.length > LONGEST_NAME)
    fail(`a name in snake_case of at most ${LONGEST_NAME} letters, such as layer_scale`, id);
  if (RESERVED.has(id)) fail("a name that is no word of TypeScript or C++", id);
  if (existsSync(join(folder, id))) fail("a name that no op has yet", id, takenHint(id, join(folder, id)));
  if (camel(id) in Graph.prototype) fail("a name whose method a graph does not have yet", camel(id));
}

/**
 * Writes the files of a new op, all or none. root: of the checkout. Returns the op's folder.
 *
 * @throws VdError `attr` for a name that an op cannot have, `io` where its folder cannot be made
 */
export function writeOp(id: string, root = ROOT): string {
  const ops = join(root, "packages/kernels-native/ops");
  checkName(id, ops);
  const folder = join(ops, id);
  // Not among the ops, where a generator would find it half-written.
  const partial = join(root, `packages/kernels-native/build/new-${id}-${process.pid}`);
  try {
    mkdirSync(partial, { recursive: true });
    for (const [name, text] of Object.entries(newOpFiles(id, camel(id)))) writeFileSync(join(partial, name), text);
    renameSync(partial, folder);
  } catch (error) {
    throw fileError(folder, "a folder that can be made and written", error);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  return folder;
}

/** Writes a new op and everything that is generated from it. Returns the exit status. */
export async function makeOp(id: string): Promise<number> {
  const folder = writeOp(id);
  const status = await runScript(["tooling/generate/main.ts"]);
  if (status !== 0) {
    console.error(`The files of ${id} are written, in ${folder}; ${REST}`);
    return status;
  }
  console.log(`${folder}
Write what it computes in ${id}.op.ts, ${id}.reference.ts (float64), ${id}.cpu.cc (the definition) and ${id}.cu; then
  pnpm gen
  pnpm kernel test ${id}`);
  return 0;
}
