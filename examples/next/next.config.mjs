/** Native code cannot be bundled: these packages stay in node_modules, and `standalone` copies what they need of it. */
export default {
  output: "standalone",
  serverExternalPackages: ["@vd/kernels-native", "@vd/tensor", "@vd/media", "@vd/svd-pipeline"],
};
