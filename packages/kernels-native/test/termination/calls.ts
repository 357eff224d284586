/** What a worker does again and again until it is stopped. */
export interface WorkerKind {
  /** In the journal and the tally. */
  name: string;
  /** The body of a function over the names that {@link WORKER_SOURCE} gives it; an async one returns a promise. */
  body: string;
  isAsync?: true;
  /** True where the promise is to reject. */
  rejects?: true;
}

const sync = (name: string, body: string): WorkerKind => ({ name, body });
const async = (name: string, body: string): WorkerKind => ({ name, body, isAsync: true });

/** Every kind of call: objects of the addon's classes, bytes in and out, errors thrown and rejected. */
export const WORKER_KINDS: readonly WorkerKind[] = [
  sync("allocateBuffer", "addon.allocateBuffer(64)"),
  sync("allocateBuffer of many pages, left to the collector", "addon.allocateBuffer(1 << 20)"),
  sync("allocateBuffer and freeSync", "addon.allocateBuffer(4096).freeSync()"),
  sync("mapFile", "addon.mapFile(file)"),
  sync("openDevice", 'addon.openDevice({ threads: 1, isa: "best", math: "exact", reference: false })'),
  sync("openDevice with threads", 'addon.openDevice({ threads: 2, isa: "best", math: "exact", reference: false })'),
  sync("writeSync", "small.writeSync(bytes, 0)"),
  sync("readSync", "small.readSync(bytes, 0)"),
  sync("copyFromSync", "small.copyFromSync(large, 0, 0, 64)"),
  sync("fillSync", "small.fillSync(1)"),
  sync("getters", "small.bytes; small.writable; addon.cpuIsa(); addon.opIds()"),
  sync("listGpus", 'addon.listGpus("")'),
  sync("allocateBuffer that throws", "try { addon.allocateBuffer(-1) } catch {}"),
  sync("mapFile that throws", 'try { addon.mapFile("/no/such/file") } catch {}'),
  sync("openDevice that throws", "try { addon.openDevice({}) } catch {}"),
  sync(
    "openDevice with a getter that throws",
    "try { addon.openDevice({ get threads() { throw new Error() } }) } catch {}",
  ),
  sync(
    "writeSync that throws",
    'try { small.writeSync("text", 0) } catch {}; try { small.writeSync(bytes, 1e9) } catch {}',
  ),
  sync("a method of another object", "try { small.readSync.call({}, bytes, 0) } catch {}"),
  sync("a constructor", "try { new small.constructor() } catch {}"),
  sync("a freed buffer", "const one = addon.allocateBuffer(64); one.freeSync(); try { one.bytes } catch {}"),
  sync("compile that throws", "try { device.compile(1, 2, 3) } catch {}"),
  async("write", "return small.write(bytes, 0)"),
  async("write of shared memory", "return large.write(shared, 0)"),
  async("readBytes", "return small.readBytes(0, 64)"),
  async("readBytes of many pages", "return large.readBytes(0, 1 << 20)"),
  async("readFloats", "return large.readFloats(0, 0, 1024, 16, 16, 0)"),
  async("readFloats in blocks, on threads", "return large.readFloats(0, 1, 1 << 18, 2, 2, 0)"),
  async("writeFloats", "return small.writeFloats(new Float32Array(16), 1, 0)"),
  async("copyFrom", "return small.copyFrom(large, 0, 0, 64)"),
  async("free", "return addon.allocateBuffer(1 << 20).free()"),
  async("free twice", "const one = addon.allocateBuffer(64); return Promise.all([one.free(), one.free()])"),
  async("fillNormals", 'return addon.fillNormals(new Uint32Array(625), shared, 1, 0, undefined, "best")'),
  { ...async("compile that rejects", "return device.compile(Float64Array.of(1, 2, 3), noNames, [])"), rejects: true },
  { ...async("write that throws", 'return small.write("text", 0)'), rejects: true },
  async("compile and run", "return device.compile(words, noNames, buffers).then((program) => program.run(false))"),
  async("run with times", "return program.run(true)"),
  async("startDriver", "return addon.startDriver()"),
];

/** The program of every worker, plain JavaScript so that it starts in a moment. `workerData`: addonPath, kind, file (one
 *  that can be mapped), words and blocks of a program. */
export const WORKER_SOURCE = `
const { parentPort, workerData } = require("node:worker_threads");
const addon = require(workerData.addonPath);
const { kind, file } = workerData;
const bytes = new Uint8Array(64);
const shared = new Float32Array(new SharedArrayBuffer(1 << 18));
const [small, large] = [addon.allocateBuffer(64), addon.allocateBuffer(1 << 20)];
const words = Float64Array.from(workerData.words);
const device = addon.openDevice({ threads: 1, isa: "best", math: "exact", reference: false });
const buffers = workerData.blocks.map(({ bytes, constant }) => ({ buffer: addon.allocateBuffer(bytes), constant }));
const noNames = { text: "", count: 0 };
const names = ["addon", "small", "large", "bytes", "shared", "file", "device", "words", "noNames", "buffers", "program"];
const make = (program) => {
  const values = [addon, small, large, bytes, shared, file, device, words, noNames, buffers, program];
  const call = new Function(...names, kind.body);
  return () => call(...values);
};
const settled = (call) => new Promise((resolve) => resolve(call()));
device.compile(words, noNames, buffers).then(async (program) => {
  const call = make(program);
  const rejected = await settled(call).then(() => undefined, (error) => error);
  if ((rejected !== undefined) !== (kind.rejects === true)) throw rejected ?? new Error("a call that should reject did not");
  parentPort.postMessage("calling");
  if (!kind.isAsync) for (;;) call();
  const again = () => settled(call).then(again, again);
  for (let i = 0; i < 4; i++) again();
});
`;
