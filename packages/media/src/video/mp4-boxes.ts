/** A box of an ISO base media file: its four-letter type and where its body lies in the file. */
export interface Box {
  type: string;
  bodyStart: number;
  end: number;
}

/**
 * Lists the boxes that lie side by side between two offsets.
 * Source: ISO/IEC 14496-12, 4.2 (size, type, 64-bit size when size is 1, to the end when it is 0).
 * @throws RangeError when a box reaches beyond `end`.
 */
export function listBoxes(file: Uint8Array, start = 0, end = file.length): Box[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const boxes: Box[] = [];
  for (let at = start; at < end; ) {
    const size32 = view.getUint32(at);
    const type = String.fromCharCode(...file.subarray(at + 4, at + 8));
    const headerBytes = size32 === 1 ? 16 : 8;
    const size = size32 === 1 ? Number(view.getBigUint64(at + 8)) : size32 === 0 ? end - at : size32;
    if (size < headerBytes || at + size > end) throw new RangeError(`box ${type} at ${at} has ${size} bytes`);
    boxes.push({ type, bodyStart: at + headerBytes, end: at + size });
    at += size;
  }
  return boxes;
}

/** Bytes of a box's body that come before the boxes inside it. */
const PREFIX_BYTES: Record<string, number> = { stsd: 8, avc1: 78 };

/**
 * Follows a path of box types downwards, such as `["moov", "trak"]`, taking the first of each type.
 * @throws RangeError when one of them is not there.
 */
export function findBox(file: Uint8Array, path: readonly string[]): Box {
  let box: Box = { type: "", bodyStart: 0, end: file.length };
  for (const type of path) {
    const start = box.bodyStart + (PREFIX_BYTES[box.type] ?? 0);
    const found = listBoxes(file, start, box.end).find((inner) => inner.type === type);
    if (found === undefined) throw new RangeError(`no box ${path.join("/")}`);
    box = found;
  }
  return box;
}

/** A box with the given body parts, one after the other. */
export function makeBox(type: string, ...parts: readonly Uint8Array[]): Uint8Array {
  const headerBytes = 8;
  const size = parts.reduce((sum, part) => sum + part.length, headerBytes);
  return joinBytes(u32(size), ascii(type), ...parts);
}

/** Joins parts, one after the other. */
export function joinBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** A box that starts with version 0 and 24 bits of flags. */
export function makeFullBox(type: string, flags: number, ...parts: readonly Uint8Array[]): Uint8Array {
  return makeBox(type, u32(flags), ...parts);
}

/** Letters as bytes. */
export function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

/** Numbers as big-endian 32-bit words. */
export function u32(...values: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(values.length * 4);
  const view = new DataView(bytes.buffer);
  values.forEach((value, i) => {
    view.setUint32(4 * i, value);
  });
  return bytes;
}

/** Numbers as big-endian 16-bit words. */
export function u16(...values: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(values.length * 2);
  const view = new DataView(bytes.buffer);
  values.forEach((value, i) => {
    view.setUint16(2 * i, value);
  });
  return bytes;
}
