import { describe, expect, it } from "vitest";
import { findBox, listBoxes, makeBox, u32 } from "../../src/video/mp4-boxes";
import { makeMp4, readH264Track } from "../../src/video/mp4-file";

const KEY = Uint8Array.of(0, 0, 0, 3, 0x65, 1, 2);
const OTHER = Uint8Array.of(0, 0, 0, 2, 0x41, 9);
const track = { width: 64, height: 48, fps: 7, decoderConfig: Uint8Array.of(1, 66, 0, 30), frames: [KEY, OTHER, KEY] };

describe("listBoxes", () => {
  it("reads 32-bit, 64-bit and open sizes", () => {
    const long = Uint8Array.of(...u32(1), 0x66, 0x72, 0x65, 0x65, ...u32(0, 17), 5);
    const open = Uint8Array.of(...u32(0), 0x6d, 0x64, 0x61, 0x74, 1, 2);
    const file = Uint8Array.of(...makeBox("abcd", u32(7)), ...long, ...open);
    expect(listBoxes(file)).toEqual([
      { type: "abcd", bodyStart: 8, end: 12 },
      { type: "free", bodyStart: 28, end: 29 },
      { type: "mdat", bodyStart: 37, end: 39 },
    ]);
  });

  it.each([[u32(99, 0)], [u32(4, 0)], [Uint8Array.of(0, 0)]])("refuses sizes that do not fit", (file) => {
    expect(() => listBoxes(file)).toThrow(RangeError);
  });

  it("says which box is not there", () => {
    expect(() => findBox(makeBox("moov"), ["moov", "trak"])).toThrow("no box moov/trak");
  });
});

describe("makeMp4", () => {
  it("comes back as it went in", () => {
    const size = { width: 64, height: 48, fps: 7 };
    expect(readH264Track(makeMp4(track), size)).toEqual(track);
  });

  it("puts the index before the frames and points at the first", () => {
    const file = makeMp4(track);
    expect(listBoxes(file).map((box) => box.type)).toEqual(["ftyp", "moov", "mdat"]);
    const offsets = findBox(file, ["moov", "trak", "mdia", "minf", "stbl", "stco"]);
    const firstFrame = new DataView(file.buffer, file.byteOffset).getUint32(offsets.bodyStart + 8);
    expect([...file.subarray(firstFrame, firstFrame + KEY.length)]).toEqual([...KEY]);
  });

  it("marks the key frames", () => {
    const file = makeMp4(track);
    const sync = findBox(file, ["moov", "trak", "mdia", "minf", "stbl", "stss"]);
    expect([...file.subarray(sync.bodyStart, sync.end)]).toEqual([...u32(0, 2, 1, 3)]);
  });

  it("refuses a file whose frames do not fill the media box", () => {
    const file = makeMp4(track);
    const sizes = findBox(file, ["moov", "trak", "mdia", "minf", "stbl", "stsz"]);
    file[sizes.bodyStart + 15]! += 1;
    expect(() => readH264Track(file, track)).toThrow(RangeError);
  });
});
