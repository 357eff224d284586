import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const script = fileURLToPath(new URL("../../../build/cubins/compare-sass.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "vd-compare-sass-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** An ELF file with the given sections and nothing else. */
function elf(sections: Readonly<Record<string, Buffer>>): Buffer {
  const names = Buffer.from(["", ...Object.keys(sections), ".shstrtab", ""].join("\0"));
  const parts = [...Object.entries(sections), [".shstrtab", names] as const];
  const contents = Buffer.concat(parts.map(([, bytes]) => bytes));
  const headers = Buffer.alloc(64 * (parts.length + 1));
  let offset = 64;
  parts.forEach(([name, bytes], i) => {
    const header = headers.subarray(64 * (i + 1));
    header.writeUInt32LE(names.indexOf(`\0${name}\0`) + 1, 0);
    header.writeUInt32LE(1, 4);
    header.writeBigUInt64LE(BigInt(offset), 24);
    header.writeBigUInt64LE(BigInt(bytes.length), 32);
    offset += bytes.length;
  });
  const start = Buffer.alloc(64);
  start.write("\x7fELF", 0, "latin1");
  start.writeBigUInt64LE(BigInt(offset), 40);
  start.writeUInt16LE(parts.length + 1, 60);
  start.writeUInt16LE(parts.length, 62);
  return Buffer.concat([start, contents, headers]);
}

/** A fatbin with one cubin, not compressed. */
function fatbin(cubin: Buffer): Buffer {
  const header = Buffer.alloc(16 + 64);
  header.writeUInt32LE(0xba55ed50, 0);
  header.writeUInt16LE(1, 4);
  header.writeUInt16LE(16, 6);
  header.writeBigUInt64LE(BigInt(64 + cubin.length), 8);
  header.writeUInt32LE(64, 16 + 4);
  header.writeBigUInt64LE(BigInt(cubin.length), 16 + 8);
  return Buffer.concat([header, cubin]);
}

/** A build with one source of two kernels. */
function build(name: string, { code = "same", constant = "0", registers = 8, second = "plus" } = {}): string {
  const path = join(folder, name);
  mkdirSync(path);
  const sections = {
    ".text.copy": Buffer.from(code),
    ".nv.constant2.copy": Buffer.from(constant),
    [`.text.${second}`]: Buffer.from("b"),
  };
  const key = Buffer.from(name.padEnd(8, "-")).toString("hex").slice(0, 16);
  writeFileSync(join(path, `ops-sm_80-${key}.fatbin`), fatbin(elf(sections)));
  const log = ["copy", second].map(
    (kernel) =>
      `Compiling entry function '${kernel}' for 'sm_80'\nptxas info : Used ${registers} registers, 0 bytes smem`,
  );
  writeFileSync(join(path, `ops-sm_80-${key}.log`), log.join("\n"));
  return path;
}

const compare = (...folders: string[]) => spawnSync(process.execPath, [script, ...folders], { encoding: "utf8" });

test("two builds are compared kernel by kernel", () => {
  const base = build("base");
  expect(compare(base, build("again"))).toMatchObject({ status: 0, stdout: "2 of 2 kernels are equal\n" });
  const code = compare(base, build("code", { code: "other" }));
  expect(code).toMatchObject({
    status: 1,
    stdout: expect.stringContaining("sm_80 copy has other instructions: 4 bytes, now 5"),
  });
  expect(compare(base, build("constant", { constant: "1" })).stdout).toContain("sm_80 copy has other constants");
  expect(compare(base, build("used", { registers: 9 })).stdout).toMatch(/sm_80 plus uses .*"registers":9.*formerly/);
  const named = compare(base, build("named", { second: "minus" }));
  expect(named.stdout).toBe("sm_80 minus is new\nsm_80 plus is gone\n1 of 3 kernels are equal\n");
});

test("nothing to compare is no success", () => {
  mkdirSync(join(folder, "empty"));
  expect(compare(join(folder, "empty"), join(folder, "empty")).status).toBe(1);
  expect(compare()).toMatchObject({ status: 2, stderr: expect.stringContaining("Usage") });
});
