// @vd/kernels-native alone, from CommonJS and without TypeScript: which devices there are, whether the binaries are the
// published ones, and memory that kernels use.
const { allocateBuffer, devices, mapFile, OPS, verifyPrebuilds } = require("@vd/kernels-native");

for (const { kind, name, usable, reason } of devices()) {
  console.log(`${kind} ${name}: ${usable ? "usable" : "not usable"}. ${reason}`);
}
console.log(`${verifyPrebuilds().length} binaries have the SHA-256 of the manifest`);
console.log(`${Object.keys(OPS).length} operations, among them ${Object.keys(OPS).slice(0, 3).join(", ")}`);

// Memory outside of JavaScript's heap: zeroed, and pages cost nothing until they are touched.
const buffer = allocateBuffer(1 << 20);
buffer.writeSync(Float32Array.of(1, 2, 3), 64);
console.log("read back:", ...buffer.readSync(new Float32Array(3), 64));

// A file's bytes without reading them: weights are used in place.
console.log(`this file has ${mapFile(__filename).bytes} bytes`);
