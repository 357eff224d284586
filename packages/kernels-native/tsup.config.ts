import { defineConfig } from "tsup";
import { library } from "../../tooling/build/tsup.mjs";

export default defineConfig({
  ...library({
    index: "src/index.ts",
    contract: "contract/index.ts",
    cases: "ops/cases.generated.ts",
    references: "ops/references.generated.ts",
  }),
  // Stays a file of its own, for what traces native files.
  external: ["../lib/locate.cjs"],
});
