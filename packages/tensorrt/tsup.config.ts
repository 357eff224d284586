import { defineConfig } from "tsup";

export default defineConfig([
  {
    entry: ["src/index.ts"],
    format: ["esm", "cjs"],
    target: "node20",
    platform: "node",
    dts: true,
    sourcemap: true,
    clean: true,
    shims: true,
  },
  {
    entry: { cli: "src/cli.ts" },
    format: ["esm"],
    target: "node20",
    platform: "node",
    banner: { js: "#!/usr/bin/env node" },
    splitting: false,
    sourcemap: true,
  },
]);
