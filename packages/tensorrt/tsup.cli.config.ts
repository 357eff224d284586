import { defineConfig } from "tsup";
import { program } from "../../tooling/build/tsup.mjs";

export default defineConfig(program({ cli: "src/cli.ts" }));
