import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../../tooling/testing/temporary-folder";
import { discardAll, temporaryName } from "../../src/files/temporary";
import {
  checkPlace,
  placeFile,
  placeFileSync,
  requireFree,
  writeSynced,
  writeWholeFile,
} from "../../src/files/whole-file";

const place = { where: "--output", overwrite: true };
const bytes = new Uint8Array(1000).fill(7);

/** What the operating system says when a disk is full. */
function noSpace(): Error {
  return Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", syscall: "write" });
}

/** Mounts a file system of 64 KiB, where the system lets us; undefined elsewhere. */
function smallDisk(): string | undefined {
  const folder = temporaryFolder();
  const isMounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]).status === 0;
  if (!isMounted) return undefined;
  onTestFinished(() => void spawnSync("umount", [folder]));
  return folder;
}

describe("placeFile", () => {
  it("puts the file in place and reports its size", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "out.bin");
    writeFileSync(path, "old");
    expect(await placeFile(path, place, (temporary) => writeSynced(temporary, bytes))).toBe(1000);
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(readdirSync(folder)).toEqual(["out.bin"]);
  });

  it("leaves the old file and nothing else when writing fails midway", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "out.bin");
    writeFileSync(path, "old");
    const writing = placeFile(path, place, async (temporary) => {
      await writeSynced(temporary, bytes.subarray(0, 500));
      expect(readdirSync(folder)).toHaveLength(2);
      throw noSpace();
    });
    await expect(writing).rejects.toMatchObject({
      code: "io",
      message:
        `[--output] expected a file that can be written, got no space left on the device (${path}). ` +
        "Free some space or choose another folder.",
    });
    expect(readdirSync(folder)).toEqual(["out.bin"]);
    expect(readFileSync(path, "utf8")).toBe("old");
  });

  it("does not put a file in place after it was cancelled", async () => {
    const folder = temporaryFolder();
    const controller = new AbortController();
    const writing = placeFile(join(folder, "x"), { ...place, signal: controller.signal }, async (temporary) => {
      await writeSynced(temporary, bytes);
      controller.abort(new Error("enough"));
    });
    await expect(writing).rejects.toThrow("enough");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("keeps a file that appeared meanwhile and must be kept", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "x");
    const writing = placeFile(path, { ...place, overwrite: false }, async (temporary) => {
      await writeSynced(temporary, bytes);
      writeFileSync(path, "someone else's");
    });
    await expect(writing).rejects.toThrow("got an existing file");
    expect(readFileSync(path, "utf8")).toBe("someone else's");
  });

  it("explains a disk that is full (on a real one, where mounting is allowed)", async ({ skip }) => {
    const folder = smallDisk();
    if (folder === undefined) return skip("no permission to mount");
    const big = new Uint8Array(200_000);
    const writing = placeFile(join(folder, "x"), place, (temporary) => writeSynced(temporary, big));
    await expect(writing).rejects.toThrow("no space left on the device");
    expect(readdirSync(folder)).toEqual([]);
    writeFileSync(join(folder, "fill"), new Uint8Array(64 * 1024));
    await expect(checkPlace(join(folder, "x"), place)).rejects.toThrow("no space left on the device");
    expect(readdirSync(folder)).toEqual(["fill"]);
  });
});

/** Bytes that came out of a pipe, once its writers have closed it. */
function readerOf(pipe: string): Promise<Buffer> {
  const reader = spawn("cat", [pipe], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void reader.kill());
  const chunks: Buffer[] = [];
  reader.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => reader.on("close", () => resolve(Buffer.concat(chunks))));
}

/** A named pipe in a folder of its own. */
function pipeIn(folder: string): string {
  const path = join(folder, "pipe.bin");
  expect(spawnSync("mkfifo", [path]).status).toBe(0);
  return path;
}

/** A link in a folder of its own. */
function linkTo(target: string): string {
  const path = join(temporaryFolder(), "link.bin");
  symlinkSync(target, path);
  return path;
}

describe.skipIf(process.platform !== "linux")("what no file can take the place of", () => {
  // More than a pipe holds.
  const large = Uint8Array.from({ length: 3_000_001 }, (_, i) => i % 251);

  it("is a pipe: it gets the bytes, whether files may be replaced or not, and stays", async () => {
    const folder = temporaryFolder();
    const pipe = pipeIn(folder);
    await checkPlace(pipe, { ...place, overwrite: false });
    const writing = writeWholeFile(pipe, large, { overwrite: false });
    const read = readerOf(pipe);
    expect(await writing).toBe(large.length);
    expect((await read).equals(large)).toBe(true);
    expect(lstatSync(pipe).isFIFO()).toBe(true);
    expect(readdirSync(folder)).toEqual(["pipe.bin"]);
  });

  it("gets the bytes of what is written at once", async () => {
    const pipe = pipeIn(temporaryFolder());
    const read = readerOf(pipe);
    placeFileSync(pipe, (descriptor) => writeFileSync(descriptor, "all of it"));
    expect((await read).toString()).toBe("all of it");
    expect(lstatSync(pipe).isFIFO()).toBe(true);
  });

  it("is not waited for once it was cancelled", async () => {
    const pipe = pipeIn(temporaryFolder());
    const controller = new AbortController();
    const writing = placeFile(pipe, { signal: controller.signal }, async (temporary) => {
      await writeSynced(temporary, bytes);
      setImmediate(() => controller.abort(new Error("enough")));
    });
    await expect(writing).rejects.toThrow("enough");
  });

  it("is a device: a full one is an error, and a link to it stays", async () => {
    const full = linkTo("/dev/full");
    const said = {
      code: "io",
      message: `[--output] expected a file that can be written, got no space left on the device (${full}). Free some space or choose another folder.`,
    };
    await expect(writeWholeFile(full, bytes, place)).rejects.toMatchObject(said);
    expect(() => placeFileSync(full, (descriptor) => writeFileSync(descriptor, bytes))).toThrow("no space left");
    expect(lstatSync(full).isSymbolicLink()).toBe(true);
    const nothing = linkTo("/dev/null");
    expect(await writeWholeFile(nothing, bytes)).toBe(bytes.length);
    placeFileSync(nothing, (descriptor) => writeFileSync(descriptor, bytes));
    expect(lstatSync(nothing).isSymbolicLink()).toBe(true);
  });

  it("is a descriptor of the process, also that of a file, which keeps what it has", async () => {
    const path = join(temporaryFolder(), "log");
    writeFileSync(path, "before, ");
    const file = await open(path, "a");
    try {
      await writeWholeFile(`/dev/fd/${file.fd}`, "then", { overwrite: false });
      placeFileSync(`/proc/self/fd/${file.fd}`, (descriptor) => writeFileSync(descriptor, ", at last"));
    } finally {
      await file.close();
    }
    expect(readFileSync(path, "utf8")).toBe("before, then, at last");
  });

  it("is refused where it takes no bytes, or a file is to be moved there", async () => {
    const socket = join(temporaryFolder(), "s");
    const server = createServer().listen(socket);
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const message = `[--output] expected a file, a pipe or a device that takes bytes, got a socket (${socket}). Choose another name.`;
    await expect(checkPlace(socket, place)).rejects.toMatchObject({ code: "io", message });
    await expect(writeWholeFile(socket, bytes, place)).rejects.toMatchObject({ code: "io", message });
    expect(lstatSync(socket).isSocket()).toBe(true);
    await expect(requireFree("/dev/null", place)).rejects.toThrow("expected a name for a file, got a pipe or a device");
  });
});

it("a link to a file is replaced, and the file stays", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "kept"), "old");
  const link = linkTo(join(folder, "kept"));
  await writeWholeFile(link, "new");
  expect([lstatSync(link).isFile(), readFileSync(link, "utf8")]).toEqual([true, "new"]);
  expect(readFileSync(join(folder, "kept"), "utf8")).toBe("old");
});

describe("checkPlace", () => {
  it("is content with a free name and leaves nothing", async () => {
    const folder = temporaryFolder();
    await checkPlace(join(folder, "x"), { ...place, overwrite: false });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("explains what is in the way", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "d.mp4"));
    writeFileSync(join(folder, "f"), "");
    await expect(checkPlace(join(folder, "no", "x"), place)).rejects.toThrow(
      `[--output] expected a folder that exists, got none named ${join(folder, "no")}. Make it first: mkdir -p "${join(folder, "no")}"`,
    );
    await expect(checkPlace(join(folder, "f", "x"), place)).rejects.toThrow(`got a file (${join(folder, "f")})`);
    await expect(checkPlace(join(folder, "d.mp4"), place)).rejects.toThrow(
      "expected a file name, got the name of a folder",
    );
    await expect(checkPlace(join(folder, "f"), { ...place, overwrite: false })).rejects.toThrow(
      "expected a name that is free, got an existing file",
    );
  });

  it.skipIf(process.platform !== "linux")("explains a folder that takes no files", async () => {
    await expect(checkPlace("/proc/self/x.mp4", place)).rejects.toMatchObject({
      code: "io",
      message: expect.stringContaining("[--output] expected a folder that can be written to, got "),
    });
  });
});

describe("discardAll", () => {
  it("removes temporaries at once, folders too", () => {
    const folder = temporaryFolder();
    writeFileSync(temporaryName(join(folder, "a")), "half");
    mkdirSync(temporaryName(join(folder, "b")));
    expect(readdirSync(folder)).toHaveLength(2);
    discardAll();
    expect(readdirSync(folder)).toEqual([]);
  });
});
