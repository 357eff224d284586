import { defineConfig } from "tsup";
import { library } from "../../tooling/build/tsup.mjs";

export default defineConfig(
  library({ index: "src/index.ts", options: "src/options/index.ts", progress: "src/progress/index.ts" }),
);
