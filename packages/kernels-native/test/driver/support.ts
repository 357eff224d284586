// What scenarios of the stand-in driver share.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CompileOptions, Device, type DeviceBuffer, isVdError, OPS } from "../../src/index";
import { EXPRESSION_BYTES, expressionRow } from "./expression-rows";

/** The scenario that is asked for, and where its device code lies. */
export const [, , scenario = "", folder = ""] = process.argv;

/** A fatbin with nothing in it: the stand-in takes any image. */
export function writeImage(name: string): void {
  const image = Buffer.alloc(48);
  image.writeUInt32LE(0xba55ed50, 0);
  image.writeUInt16LE(1, 4);
  image.writeUInt16LE(16, 6);
  image.writeBigUInt64LE(16n, 8);
  writeFileSync(join(folder, `${name}.fatbin`), image.subarray(0, 32));
}

export const open = () => Device.cuda({ imageDir: folder });

/** What a call threw, as plain data. */
export async function failure(body: () => unknown): Promise<unknown> {
  try {
    await body();
    return "nothing";
  } catch (error) {
    return isVdError(error) ? { code: error.code, message: error.message } : String(error);
  }
}

/** A row that copies x to y, both [1,1,4,8], and one that uses a constant; on buffers of the device. */
export async function copyProgram(
  device: Device,
  constants: DeviceBuffer,
  { capture = false, ...wanted }: CompileOptions = {},
) {
  const memory = await device.allocate(256);
  const tensor = (buffer: number, offset: number) => [buffer, offset, 0, 4, 1, 1, 4, 8, 0, 8];
  const copy = Object.keys(OPS).indexOf("copy");
  const words = [copy, ...tensor(0, 0), ...tensor(0, 128), copy, ...tensor(1, 4), ...tensor(0, 128)];
  const bindings = [
    { buffer: memory, constant: false },
    { buffer: constants, constant: true },
  ];
  return {
    memory,
    program: await device.compile(Float64Array.from(words), ["first", "second"], bindings, {
      capture,
      ...wanted,
    }),
  };
}

/** 100 different lists of functions that EXPRESSION_TEXT has. */
export const manyFunctions = () =>
  Array.from({ length: 100 }, (_, i) =>
    Array.from({ length: 7 }, (_, bit) => ((i >> bit) & 1 ? "neg" : "abs")).join(" "),
  );

/** A row that computes functions of a, [1,1,1024,64], one after the other. */
export async function expressionProgram(device: Device, functions: string, options: CompileOptions = {}) {
  const bindings = [{ buffer: await device.allocate(EXPRESSION_BYTES), constant: false }];
  return device.compile(Float64Array.from(expressionRow(functions)), ["row"], bindings, options);
}
