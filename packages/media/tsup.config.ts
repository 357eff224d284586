import { defineConfig } from "tsup";

export default defineConfig({
  // The worker is a program of its own: Node.js loads it from beside index.js.
  entry: { index: "src/index.ts", "ffmpeg-worker": "src/ffmpeg/ffmpeg-worker.js" },
  format: ["esm", "cjs"],
  target: "node20",
  platform: "node",
  dts: { entry: { index: "src/index.ts" } },
  sourcemap: true,
  clean: true,
  shims: true,
});
