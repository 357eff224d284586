#!/usr/bin/env node
// Stands in for ffmpeg: lists encoders, or writes how many bytes came in. The name it is started by picks its mood.
import { writeFileSync } from "node:fs";
import { basename } from "node:path";

const mood = basename(process.argv[1]).split(".")[0];
if (process.argv.includes("-encoders")) {
  console.log(mood === "old" ? " V..... mpeg4  MPEG-4 part 2" : " V..... libx264  H.264\n V....D libvpx-vp9  VP9");
} else if (mood === "full") {
  process.stderr.write("av_interleaved_write_frame(): No space left on device\n");
  process.exit(228);
} else if (mood === "slow") {
  setInterval(() => {}, 1000);
} else {
  let numBytes = 0;
  process.stdin.on("data", (chunk) => {
    numBytes += chunk.length;
  });
  process.stdin.on("end", () => {
    writeFileSync(
      process.argv.at(-1).replace(/^file:/, ""),
      JSON.stringify({ numBytes, words: process.argv.slice(2) }),
    );
  });
}
