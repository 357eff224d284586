// Run by variant-choice.test.ts in a process whose NVIDIA driver is the stand-in: compiles programs of many rows, which threads share, and
// prints what each row got.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CompileOptions, Device, dtypeIndex, isVdError, OPS } from "../../src/index";
import { EXPRESSION_BYTES, EXPRESSION_TEXT, expressionRow } from "./expression-rows";

const [, , folder = "", mostThreads = ""] = process.argv;

/** Enough for several threads. */
const NUM_ROWS = 256;

/** A fatbin with nothing in it, and text of kernels beside it. */
function writeImage(): void {
  const image = Buffer.alloc(32);
  image.writeUInt32LE(0xba55ed50, 0);
  image.writeUInt16LE(1, 4);
  image.writeUInt16LE(16, 6);
  image.writeBigUInt64LE(16n, 8);
  writeFileSync(join(folder, "sm_90a.fatbin"), image);
  writeFileSync(join(folder, "compute_80.ptx"), EXPRESSION_TEXT);
}

const opIndex = (name: string) => Object.keys(OPS).indexOf(name);
const tensor = (offset: number, dtype = dtypeIndex("f32")) => [0, offset, dtype, 4, 1, 1, 4, 64, 0, 64];

/** A copy that can be made 16 bytes at a time, or not. */
const copyRow = (offset: number) => [opIndex("copy"), ...tensor(offset), ...tensor(2048)];
/** Attention of queries and keys of two types, which no GPU has. */
const unsupportedRow = () => {
  const operands = [tensor(0), tensor(1024, dtypeIndex("f16")), tensor(2048), tensor(4096)];
  return [opIndex("attention_q8"), 1, 1, 0, 0, ...operands.flat()];
};
/** Rows of each kind; the driver compiles a text once. */
const kindsWith = (first: string) => [
  copyRow(0),
  copyRow(4),
  ...["neg", "abs sqrt", "sqrt abs"].map((functions) => expressionRow(`${first} ${functions}`)),
];

writeImage();
const device = Device.cuda({ imageDir: folder });
const memory = await device.allocate(EXPRESSION_BYTES);

async function compile(rows: readonly number[][], options: CompileOptions = { explain: true }) {
  const names = rows.map((_, i) => `row ${i}`);
  const bindings = [{ buffer: memory, constant: false }];
  const { info, candidates, rejected } = await device.compile(Float64Array.from(rows.flat()), names, bindings, options);
  return info.variants.map((variant, i) => ({ variant, candidates: candidates[i], rejected: rejected[i] }));
}

async function failure(body: () => Promise<unknown>): Promise<unknown> {
  try {
    await body();
    return "nothing";
  } catch (error) {
    return isVdError(error) ? { code: error.code, message: error.message } : String(error);
  }
}

/** Rows of all kinds by turns, some of which no GPU has. */
const manyRows = (kinds: readonly number[][], ...unsupported: number[]) =>
  Array.from({ length: NUM_ROWS }, (_, i) => (unsupported.includes(i) ? unsupportedRow() : kinds[i % kinds.length]!));

/** What each kind of row gets in a program of its own, which one thread plans. */
async function alone(kinds: readonly number[][]) {
  const results = [];
  for (const row of kinds) results.push(...(await compile([row])));
  return results;
}
/** Whether the rows of a long program get the same, in their order. */
async function areAsAlone(kinds: readonly number[][], each: readonly unknown[]): Promise<boolean> {
  const rows = await compile(manyRows(kinds));
  return rows.every((row, i) => JSON.stringify(row) === JSON.stringify(each[i % each.length]));
}

const [log, few] = [join(folder, "threads"), mostThreads !== ""];
if (few) {
  writeFileSync(log, "");
  process.env.FEW_THREADS_LOG = log;
  process.env.FEW_THREADS = mostThreads;
}
const lines = () => (few ? readFileSync(log, "utf8").split("\n").filter(Boolean) : []);
const known = kindsWith("neg");
const each = await alone(known);
const short = lines();
const together = await areAsAlone(known, each);
const threads = lines();
const failed = [];
for (const at of [[200, 90, 255], [90], [255, 31]]) failed.push(await failure(() => compile(manyRows(known, ...at))));
process.env.STAND_IN_TEXT = "218";
const others = kindsWith("abs");
const refusedEach = await alone(others);
const refused = await areAsAlone(others, refusedEach);
console.log(JSON.stringify({ each, short, together, threads, failed, refusedEach, refused }));
process.exit(0);
