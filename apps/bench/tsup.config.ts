import { defineConfig } from "tsup";

// The library, with the one clean of the build. The program follows in a run of its own (tsup.cli.config.ts): two
// configurations in one run would write and clean the same folder at the same time.
export default defineConfig({
  entry: ["src/index.ts"],
  format: ["esm", "cjs"],
  target: "node20",
  platform: "node",
  dts: true,
  sourcemap: true,
  clean: true,
  shims: true,
});
