import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { sourceAliases } from "./tooling/build/packages.mjs";
import { LongestFirst } from "./tooling/testing/longest-first.ts";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const FILES = ["packages/*/test/**/*.test.ts", "apps/*/test/**/*.test.ts", "tooling/test/**/*.test.ts"];

/** Files with a process of their own. All others share a few: to start one and to load all sources again takes a second of the
 *  processor for each file, a quarter of the suite. */
const ALONE = [
  // They put other modules in the place of ours.
  "apps/bench/test/io/pictures.test.ts",
  "apps/generate/test/profile-lazy.test.ts",
  "packages/svd-pipeline/test/generation/settled-convolutions.test.ts",
  "packages/vae-opt/test/causal-video/overlap.test.ts",
  // They load the addon from elsewhere, for which none may be loaded.
  "packages/kernels-native/test/loader/*.test.ts",
  // They watch the memory of the process or how long its event loop waits.
  "packages/live/test/{clips,session}/steady.test.ts",
  "packages/svd-pipeline/test/generation/{event-loop,memory,process-memory}.test.ts",
];

export default defineConfig({
  resolve: {
    // The first that fits counts: names inside a package stand before the package's own.
    alias: Object.entries(sourceAliases()).map(([find, path]) => ({ find, replacement: source(path) })),
  },
  test: {
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What a test waits for comes late where other processes have the processor.
    expect: { poll: { timeout: 30_000 } },
    pool: "forks",
    // Files run beside each other: with as many threads each as there are cores, they would wait for each other's. Tests that are about
    // threads name them.
    env: { VD_THREADS: process.env.VD_THREADS ?? "1" },
    // One more than there are cores: many tests wait for processes and pages that they started.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: "alone", include: ALONE, isolate: true } },
      {
        extends: true,
        test: { name: "together", include: FILES, exclude: [...ALONE, "**/node_modules/**"], isolate: false },
      },
    ],
  },
});
