import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: "@vd/kernels-native/cases", replacement: source("packages/kernels-native/ops/cases.generated.ts") },
      {
        find: "@vd/kernels-native/references",
        replacement: source("packages/kernels-native/ops/references.generated.ts"),
      },
      { find: "@vd/kernels-native/contract", replacement: source("packages/kernels-native/contract/index.ts") },
      { find: "@vd/kernels-native", replacement: source("packages/kernels-native/src/index.ts") },
      { find: "@vd/tensor", replacement: source("packages/tensor/src/index.ts") },
      { find: "@vd/conformance", replacement: source("packages/conformance/src/index.ts") },
      { find: "@vd/profiler", replacement: source("packages/profiler/src/index.ts") },
      { find: "@vd/vae-opt", replacement: source("packages/vae-opt/src/index.ts") },
      { find: "@vd/svd-pipeline/options", replacement: source("packages/svd-pipeline/src/options/index.ts") },
      { find: "@vd/svd-pipeline", replacement: source("packages/svd-pipeline/src/index.ts") },
      { find: "@vd/tensorrt", replacement: source("packages/tensorrt/src/index.ts") },
      { find: "@vd/bench", replacement: source("apps/bench/src/index.ts") },
    ],
  },
  test: {
    include: ["packages/*/test/**/*.test.ts", "apps/*/test/**/*.test.ts", "tooling/test/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
  },
});
