import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { sourceAliases } from "./tooling/build/packages.mjs";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    // The first that fits counts: names inside a package stand before the package's own.
    alias: Object.entries(sourceAliases()).map(([find, path]) => ({ find, replacement: source(path) })),
  },
  test: {
    include: ["packages/*/test/**/*.test.ts", "apps/*/test/**/*.test.ts", "tooling/test/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    // Vitest's own choice leaves a core to itself, which is half of a small machine.
    maxWorkers: availableParallelism(),
  },
});
