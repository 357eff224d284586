import { defineConfig } from "tsup";

// Runs after tsup.config.ts and leaves what that made.
export default defineConfig({
  entry: { cli: "src/cli.ts" },
  format: ["esm"],
  target: "node20",
  platform: "node",
  banner: { js: "#!/usr/bin/env node" },
  splitting: false,
  sourcemap: true,
  clean: false,
});
