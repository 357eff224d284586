// How the packages of the workspace are bundled, for the tsup.config.ts of each.

const node = { target: "node20", platform: "node", sourcemap: true };

/** A library in both module formats with its types. It cleans the output folder, so it is the first run of a build.
 *  entry: source files, or source files by the name of what is made of them.
 *  @param {string[] | Record<string, string>} entry
 *  @returns {import("tsup").Options} */
export const library = (entry = ["src/index.ts"]) => ({
  ...node,
  entry,
  format: ["esm", "cjs"],
  dts: true,
  clean: true,
  shims: true,
});

/** A program for the command line, written beside the library in a run after it: two configurations in one run would
 *  write and clean the same folder at the same time.
 *  @param {Record<string, string>} entry Source file by the program's name.
 *  @returns {import("tsup").Options} */
export const program = (entry) => ({
  ...node,
  entry,
  format: ["esm"],
  banner: { js: "#!/usr/bin/env node" },
  splitting: false,
  clean: false,
});
