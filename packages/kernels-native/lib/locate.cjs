// Where the native files lie. CommonJS that no build touches, with constant paths below __dirname and a plain require: what
// traces a program's files (Next.js among others) and what bundles it finds them by these expressions.
const { join } = require("node:path");

/** Folder of the addons, one folder a system: `linux-x64/vd-native.node`, … */
exports.prebuildsDir = join(__dirname, "../prebuilds");

/** Path of the addon for this machine. Throws what node-gyp-build throws where there is none. */
exports.packagedAddon = () => require("node-gyp-build").path(join(__dirname, ".."));

/** The folder of the device code that `@vd/kernels-cuda` has, or undefined where that optional package is not installed. */
exports.installedImageDir = () => {
  try {
    return require("@vd/kernels-cuda").imageDir;
  } catch (error) {
    if (error.code === "MODULE_NOT_FOUND" || error.code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
};
