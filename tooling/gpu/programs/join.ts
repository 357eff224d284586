// Joins what several runs of `vd-bench measure` wrote: join OUTPUT FILE...; files that are not there are left out.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { joinResults } from "./join-results";

const [, , output, ...files] = process.argv;
if (!output || files.length === 0) throw new Error("expected a file to write and the files to join");
const found = files.filter((file) => existsSync(file));
const joined = joinResults(found.map((file) => JSON.parse(readFileSync(file, "utf8"))));
writeFileSync(output, `${JSON.stringify(joined, null, 1)}\n`);
console.log(`${output}: ${joined.options.parts.join(", ")}`);
