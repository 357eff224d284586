/** Fails if a file imports a higher layer, leaves its package by a relative path, takes part in a cycle of imports, or reads
 *  the environment where it may not; if C++ or CUDA includes a part of the native code that it may not, or itself.
 *  `tsx tooling/check/layers/main.ts [ROOT]`; the rules: docs/architecture.md, section Layers. */
import { fileURLToPath } from "node:url";
import { checkLayers } from "./check";

const root = process.argv[2] ?? fileURLToPath(new URL("../../..", import.meta.url));
const violations = checkLayers(root);
for (const { file, line, message } of violations) console.error(`${file}:${line}: ${message}`);
if (violations.length > 0) {
  console.error(`check-layers: rules broken in ${violations.length} place${violations.length === 1 ? "" : "s"}`);
  process.exitCode = 1;
} else {
  console.log("check-layers: imports and includes keep to their layers");
}
