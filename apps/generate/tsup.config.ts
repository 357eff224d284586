import { defineConfig } from "tsup";
import { program } from "../../tooling/build/tsup.mjs";

// With splitting what is imported late stays in files of its own; in one file it would all be loaded at once.
export default defineConfig({ ...program({ cli: "src/cli.ts" }), splitting: true, clean: true });
