// Merges the results of several programs into one report: merge FOLDER OUTPUT_FOLDER writes <device>.json.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { about } from "./about";

const [, , folder, output] = process.argv;
if (!folder || !output) throw new Error("expected the folder of the results and the folder of the report");
const parts = readdirSync(folder).filter((name) => name.endsWith(".json"));
const { devices: _, ...machine } = about();
const fileName = machine.device.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
const results = Object.fromEntries(
  parts.sort().map((name) => [name.replace(/\.json$/, ""), JSON.parse(readFileSync(join(folder, name), "utf8"))]),
);
mkdirSync(output, { recursive: true });
const path = join(output, `${fileName}.json`);
writeFileSync(path, `${JSON.stringify({ ...machine, results }, null, 1)}\n`);
console.log(path);
