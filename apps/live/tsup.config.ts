import { mkdir, writeFile } from "node:fs/promises";
import { defineConfig } from "tsup";
import { program } from "../../tooling/build/tsup.mjs";
import { buildPage } from "./src/page/build.mjs";

export default defineConfig({
  ...program({ cli: "src/cli.ts", site: "src/site.ts" }),
  dts: { entry: { site: "src/site.ts" } },
  // What is imported late stays in files of its own; in one file it would all be loaded at once.
  splitting: true,
  clean: true,
  onSuccess: async () => {
    await mkdir("dist", { recursive: true });
    await writeFile("dist/page.html", await buildPage());
  },
});
