import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeFrame, decodePicture, encodeFrame, encodePicture, HEADER_BYTES } from "../../src/protocol/frame-message";

const frame = {
  ...({ format: "rgb", width: 2, height: 1, data: Uint8Array.of(1, 2, 3, 4, 5, 6) } as const),
  ...{ index: 70_000, action: 5, steps: 2, repeated: true, late: false, cached: true, input: 4_000_000_000 },
  latencyMs: 12.5,
};

it("brings a frame across unchanged", () => {
  const bytes = encodeFrame(frame);
  expect(bytes.length).toBe(HEADER_BYTES + 6);
  expect(decodeFrame(bytes)).toEqual(frame);
  // From the middle of a larger buffer, as sockets hand them out.
  const larger = new Uint8Array(bytes.length + 3);
  larger.set(bytes, 3);
  expect(decodeFrame(larger.subarray(3))).toEqual(frame);
});

it("brings a picture across unchanged", () => {
  const picture = { format: "rgba", width: 1, height: 2, data: new Uint8Array(8).fill(9) } as const;
  expect(decodePicture(encodePicture(picture))).toEqual(picture);
});

it("takes nothing that is no picture", () => {
  const bytes = encodeFrame(frame);
  expect(decodeFrame(bytes.subarray(0, HEADER_BYTES - 1))).toBeUndefined();
  expect(decodeFrame(bytes.subarray(0, -1))).toBeUndefined();
  expect(decodeFrame(bytes.with(0, 2))).toBeUndefined();
  expect(decodeFrame(bytes.with(1, 9))).toBeUndefined();
  expect(decodePicture(encodePicture({ format: "jpeg", width: 0, height: 1, data: bytes }))).toBeUndefined();
});

it("never throws, whatever comes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      decodeFrame(bytes);
    }),
  );
});
