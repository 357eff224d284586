/** Native code cannot be bundled: these packages stay in node_modules, and `standalone` copies what they need of it. */
export default {
  output: "standalone",
  // The app is a project of its own; in a monorepo this is the repository's root.
  outputFileTracingRoot: import.meta.dirname,
  serverExternalPackages: ["@vd/kernels-native", "@vd/tensor", "@vd/media", "@vd/svd-pipeline"],
};
