// publint and arethetypeswrong over tarballs.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

/** What publint says of a tarball. Suggestions count too. */
export async function publintFaults(tarball, manifest) {
  const bytes = readFileSync(tarball);
  const data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const { messages } = await publint({ pack: { tarball: data }, strict: true });
  return messages.map((message) => `publint: ${formatMessage(message, manifest, { color: false })}`);
}

/** What arethetypeswrong says of a tarball; programs and data have no types to be wrong. */
export async function typesFaults(tarball, manifest) {
  if (manifest.types === undefined) return [];
  const result = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(tarball))));
  if (!result.types) return ["arethetypeswrong: no types"];
  // Node 10's resolution knows no exports; Node.js 20 is the oldest here.
  const problems = result.problems.filter(({ resolutionKind }) => resolutionKind !== "node10");
  return problems.map((problem) => `arethetypeswrong: ${basename(tarball)}: ${JSON.stringify(problem)}`);
}
