// The machine code of each kernel in a fatbin, read from the cubin (an ELF file) that it holds.
import { spawnSync } from "node:child_process";
import zlib from "node:zlib";

const FATBIN_MAGIC = 0xba55ed50;
const ELF_MAGIC = 0x464c457f;
/** Where a fatbin's entry tells its own length, that of its header and what was done to its contents. */
const ENTRY = { headerBytes: 4, payloadBytes: 8, compressedBytes: 16, flags: 40 };
const IS_ZSTD = 0x8000n;
const SECTION_BYTES = 64;
/** SHT_NOBITS: a section that takes no room in the file. */
const NO_BITS = 8;

function decompress(bytes) {
  if (zlib.zstdDecompressSync) return zlib.zstdDecompressSync(bytes);
  const ran = spawnSync("zstd", ["-d", "-c"], { input: bytes, maxBuffer: 2 ** 30 });
  if (ran.status !== 0) throw new Error("expected Node.js 22.15 or newer, or the command zstd, to unpack device code");
  return ran.stdout;
}

/** The cubins of a fatbin, unpacked. */
function cubinsOf(fatbin) {
  if (fatbin.readUInt32LE(0) !== FATBIN_MAGIC) throw new Error("expected a fatbin");
  const cubins = [];
  const end = fatbin.readUInt16LE(6) + Number(fatbin.readBigUInt64LE(8));
  for (let at = fatbin.readUInt16LE(6); at < end; ) {
    const headerBytes = fatbin.readUInt32LE(at + ENTRY.headerBytes);
    const payloadBytes = Number(fatbin.readBigUInt64LE(at + ENTRY.payloadBytes));
    const compressedBytes = fatbin.readUInt32LE(at + ENTRY.compressedBytes);
    const isPacked = (fatbin.readBigUInt64LE(at + ENTRY.flags) & IS_ZSTD) !== 0n;
    const payload = fatbin.subarray(at + headerBytes, at + headerBytes + (compressedBytes || payloadBytes));
    cubins.push(isPacked ? decompress(payload) : payload);
    at += headerBytes + payloadBytes;
  }
  return cubins;
}

/** Sections of an ELF file by name. */
function sectionsOf(elf) {
  if (elf.readUInt32LE(0) !== ELF_MAGIC) throw new Error("expected machine code, not PTX");
  const start = Number(elf.readBigUInt64LE(40));
  const header = (i) => elf.subarray(start + i * SECTION_BYTES, start + (i + 1) * SECTION_BYTES);
  const contents = (section) => {
    const offset = Number(section.readBigUInt64LE(24));
    const isEmpty = section.readUInt32LE(4) === NO_BITS;
    return elf.subarray(offset, isEmpty ? offset : offset + Number(section.readBigUInt64LE(32)));
  };
  const names = contents(header(elf.readUInt16LE(62)));
  return Array.from({ length: elf.readUInt16LE(60) }, (_, i) => {
    const at = header(i).readUInt32LE(0);
    return { name: names.toString("latin1", at, names.indexOf(0, at)), contents: contents(header(i)) };
  });
}

/** Per kernel of a fatbin: its instructions, and its constants as one text. */
export function kernelsOf(fatbin) {
  const kernels = new Map();
  for (const sections of cubinsOf(fatbin).map(sectionsOf))
    for (const { name, contents } of sections) {
      if (!name.startsWith(".text.")) continue;
      const kernel = name.slice(".text.".length);
      const own = sections.filter((s) => s.name.startsWith(".nv.constant") && s.name.endsWith(`.${kernel}`));
      const constants = own.map((s) => `${s.name} ${s.contents.toString("hex")}`).sort();
      kernels.set(kernel, { code: contents, constants: constants.join("\n") });
    }
  return kernels;
}
