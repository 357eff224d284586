import { defineConfig } from "tsup";
import { library } from "../../tooling/build/tsup.mjs";

export default defineConfig(library());
