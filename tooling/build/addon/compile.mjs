#!/usr/bin/env node
// Stand-in for node-gyp that prebuildify calls: compiles what changed and links build/Release/vd-native.node.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { buildAddon } from "./objects.mjs";
import { packageDir } from "./sources.mjs";
import { toolchain } from "./toolchain.mjs";

const OUTPUT = "build/Release/vd-native.node";
const target = `${process.env.PREBUILD_PLATFORM ?? process.platform}-${process.env.PREBUILD_ARCH ?? process.arch}`;

/** Node's own symbols come with the process; one of ours that is missing would end it at the first call. */
function checkSymbols(path, nm) {
  const listed = spawnSync(nm, ["-DC", "--undefined-only", path], { encoding: "utf8", maxBuffer: 1 << 26 });
  const missing = (listed.stdout ?? "").split("\n").filter((line) => /\bvd::/.test(line));
  if (missing.length > 0) throw new Error(`undefined in the addon:\n${missing.join("\n")}`);
}

try {
  const tools = toolchain(target);
  await buildAddon(tools, join(packageDir, "build/obj", target), OUTPUT);
  if (target.startsWith("linux")) checkSymbols(OUTPUT, tools.nm);
} catch (error) {
  console.error(String(error.message ?? error));
  process.exit(1);
}
