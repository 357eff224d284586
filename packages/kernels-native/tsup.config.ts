import { defineConfig } from "tsup";

export default defineConfig({
  entry: {
    index: "src/index.ts",
    contract: "contract/index.ts",
    cases: "ops/cases.generated.ts",
    references: "ops/references.generated.ts",
  },
  format: ["esm", "cjs"],
  target: "node20",
  platform: "node",
  dts: true,
  sourcemap: true,
  clean: true,
  shims: true,
  // Stays a file of its own, for what traces native files.
  external: ["../lib/locate.cjs"],
});
