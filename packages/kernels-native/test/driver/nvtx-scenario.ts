// Run by nvtx.test.ts in a process that a stand-in for a profiling tool may be attached to.
import { allocateBuffer, Device, nvtx, OPS } from "../../src/index";

const reason = nvtx.reason();
if (nvtx.listens()) {
  const [a, b] = [nvtx.start("first"), nvtx.start("second")];
  nvtx.end(a);
  nvtx.end(b);
}
// Two rows that copy f32[1,1,4,8] from the first half of a buffer to the second.
const tensor = (offset: number) => [0, offset, 0, 4, 1, 1, 4, 8, 0, 8];
const copy = [Object.keys(OPS).indexOf("copy"), ...tensor(0), ...tensor(128)];
const memory = { buffer: allocateBuffer(256), constant: false };
const device = Device.cpu({ threads: 1 });
const program = await device.compile(Float64Array.from([...copy, ...copy]), ["row.0", "row.1"], [memory]);
await program.run();
process.stdout.write(JSON.stringify({ reason, listens: nvtx.listens() }));
