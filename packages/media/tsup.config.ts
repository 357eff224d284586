import { defineConfig } from "tsup";
import { library } from "../../tooling/build/tsup.mjs";

export default defineConfig({
  // The worker is a program of its own: Node.js loads it from beside index.js.
  ...library({ index: "src/index.ts", "ffmpeg-worker": "src/ffmpeg/ffmpeg-worker.js" }),
  dts: { entry: { index: "src/index.ts" } },
});
