// Makes the page: one HTML file without anything from outside.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Bundles one file for browsers. */
async function bundled(name) {
  const { outputFiles } = await build({
    ...{ entryPoints: [here(name)], bundle: true, minify: true, write: false, format: "esm" },
    ...{ target: ["chrome111", "firefox115", "safari16.4"], legalComments: "none" },
  });
  return outputFiles[0].text.trim();
}

/** Makes the page. Returns HTML. */
export async function buildPage() {
  const [frame, style, script] = await Promise.all([
    readFile(here("index.html"), "utf8"),
    bundled("style.css"),
    bundled("main.ts"),
  ]);
  // An end tag in a text of the script would end the script.
  const safe = script.replaceAll("</script", "<\\/script");
  // By functions, since replacement texts have signs of their own.
  return frame
    .replace("<style></style>", () => `<style>${style}</style>`)
    .replace('<script type="module"></script>', () => `<script type="module">${safe}</script>`);
}
