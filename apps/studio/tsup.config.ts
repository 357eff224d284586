import { fileURLToPath } from "node:url";
import { defineConfig } from "tsup";
import { build } from "vite";
import { program } from "../../tooling/build/tsup.mjs";

export default defineConfig({
  ...program({ cli: "src/cli.ts", worker: "src/workers/child.ts", "ai-sdk": "src/ai-sdk/index.ts" }),
  dts: { entry: { "ai-sdk": "src/ai-sdk/index.ts" } },
  // What is imported late stays in files of its own; in one file it would all be loaded at once.
  splitting: true,
  clean: true,
  onSuccess: async () => {
    await build({ configFile: fileURLToPath(new URL("web/vite.config.ts", import.meta.url)), logLevel: "warn" });
  },
});
