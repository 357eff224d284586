// Where the device code lies. A constant path below __dirname, so that what traces a program's files (Next.js among others)
// takes the whole folder along.
const { join } = require("node:path");

/** Folder of the device code: `sm_90a.fatbin`, …, `compute_80.ptx`, and manifest.json. */
exports.imageDir = join(__dirname, "images");
