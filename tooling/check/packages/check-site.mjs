// Whether the documentation in build/site can be read from a folder: every link is relative and leads to a file.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { ROOT } from "../../build/workspace.mjs";

const site = join(ROOT, "build/site");
const pages = readdirSync(site, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
let numLinks = 0;
const faults = pages.flatMap((page) => {
  const path = join(site, page);
  const text = readFileSync(path, "utf8");
  const links = [...text.matchAll(/(?:href|src)="([^"#?]+)/g)].map(([, link]) => decodeURIComponent(link));
  const local = links.filter((link) => !/^[a-z]+:/.test(link));
  numLinks += local.length;
  const lost = local.filter((link) => link.startsWith("/") || !existsSync(join(dirname(path), link)));
  const leaks = text.includes(ROOT) ? [`${page} names the folder it was made in`] : [];
  return [...lost.map((link) => `${page} links to ${link}, which is not in ${relative(ROOT, site)}`), ...leaks];
});
for (const fault of faults) console.error(fault);
console.log(`site: ${pages.length} pages, ${numLinks} links, ${faults.length} faults`);
if (faults.length > 0 || pages.length === 0) process.exitCode = 1;
