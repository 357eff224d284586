import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix, sep } from "node:path";
import type { Violation } from "./check";
import { opFolderOf, partOf } from "./native-parts";
import type { Finding } from "./source-file";

const PACKAGE = "packages/kernels-native";
const CODE = /\.(c|cc|h|inc|inl|cu|cuh)$/;

/** The quoted includes of a C++ or CUDA source; those in comments are none. */
export function readIncludes(text: string): Finding[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, " "));
  return code.split("\n").flatMap((line, i) => {
    const found = /^\s*#\s*include\s+"([^"]+)"/.exec(line);
    return found ? [{ line: i + 1, text: found[1]! }] : [];
  });
}

/** The C++ and CUDA sources of the native package, by their paths in it. */
function nativeSources(root: string): string[] {
  const folders = ["native", "device", "ops", "test"].filter((folder) => existsSync(join(root, PACKAGE, folder)));
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, PACKAGE, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  return files
    .map((path) => path.split(sep).join("/"))
    .filter((path) => CODE.test(path))
    .sort();
}

/** What is wrong with including `target` in `file`, if anything. */
function faultOf(file: string, target: string): string | undefined {
  const [own, other] = [partOf(file), partOf(target)];
  if (!own) return undefined;
  if (!other) return "is in no part of the native code";
  const [folder, otherFolder] = [opFolderOf(file), opFolderOf(target)];
  if (folder && otherFolder && folder !== otherFolder) return `is another op's: ${folder} may not include it`;
  if (folder && folder === otherFolder && !/\.cuh?$/.test(target)) return undefined;
  if (own === other || own.may.includes(other.name)) return undefined;
  return `is ${other.name}: ${own.name} may include ${own.may.join(", ")}`;
}

/** Included files by file, with `/`, from the root; and every include that tooling/check/layers/native-parts.ts forbids. */
export function checkIncludes(root: string): { graph: Map<string, string[]>; violations: Violation[] } {
  const files = nativeSources(root);
  const known = new Set(files);
  const graph = new Map<string, string[]>();
  const violations: Violation[] = [];
  for (const file of files) {
    const complain = (line: number, message: string) => violations.push({ file: `${PACKAGE}/${file}`, line, message });
    if (!partOf(file)) complain(1, "is in no part of the native code: tooling/check/layers/native-parts.ts names them");
    const targets: string[] = [];
    for (const { line, text } of readIncludes(readFileSync(join(root, PACKAGE, file), "utf8"))) {
      const target = posix.normalize(posix.join(posix.dirname(file), text));
      const fault = known.has(target) ? faultOf(file, target) : "is no file of the native code";
      if (fault) complain(line, `"${text}" ${fault}`);
      targets.push(`${PACKAGE}/${target}`);
    }
    graph.set(`${PACKAGE}/${file}`, targets);
  }
  return { graph, violations };
}
