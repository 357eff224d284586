// What typedoc reads for the reference: the packages that programs import.
import { libraries } from "../tooling/build/packages.mjs";

/** @type {Partial<import("typedoc").TypeDocOptions>} */
export default {
  name: "Reference",
  entryPointStrategy: "packages",
  entryPoints: libraries().map(({ dir }) => dir),
  packageOptions: {
    entryPoints: ["src/index.ts"],
    excludeInternal: true,
    excludePrivate: true,
    skipErrorChecking: true,
    readme: "none",
  },
  plugin: ["typedoc-plugin-markdown", "typedoc-vitepress-theme"],
  out: "./api",
  docsRoot: ".",
  readme: "none",
  entryFileName: "index.md",
  disableSources: true,
  disableGit: true,
  hideGenerator: true,
  includeVersion: false,
  useCodeBlocks: true,
  hideBreadcrumbs: true,
};
