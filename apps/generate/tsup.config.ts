import { defineConfig } from "tsup";

export default defineConfig({
  entry: { cli: "src/cli.ts" },
  format: ["esm"],
  target: "node20",
  platform: "node",
  banner: { js: "#!/usr/bin/env node" },
  // Keeps what is imported late in files of its own; in one file it would all be loaded at once.
  splitting: true,
  sourcemap: true,
  clean: true,
});
