#!/usr/bin/env node
// Stands in for ffmpeg: lists encoders, or writes how many bytes came in. The name it is started by picks its mood;
// `early` is one of Ubuntu 22.04, and decodes.
import { writeFileSync } from "node:fs";
import { basename } from "node:path";

const mood = basename(process.argv[1]).split(".")[0];
if (process.argv.includes("-encoders")) {
  console.log(mood === "old" ? " V..... mpeg4  MPEG-4 part 2" : " V..... libx264  H.264\n V....D libvpx-vp9  VP9");
} else if (mood === "early" && process.argv.includes("-version")) {
  console.log("ffmpeg version 4.4.2-0ubuntu0.22.04.1 Copyright (c) 2000-2021 the FFmpeg developers");
} else if (mood === "early" && process.argv.includes("-fps_mode")) {
  process.stderr.write("Unrecognized option 'fps_mode'.\nError splitting the argument list: Option not found\n");
  process.exit(1);
} else if (mood === "early") {
  process.stdout.write("P6\n1 1\n255\nabc");
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
