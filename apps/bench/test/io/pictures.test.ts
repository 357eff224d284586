import { VdError } from "@vd/kernels-native";
import { loadImage, loadSharp } from "@vd/media";
import { afterEach, describe, expect, it, vi } from "vitest";
import { encodePlainPng, readPicture, testPicture } from "../../src/io/pictures";

const media = vi.hoisted(() => ({ hasLibrary: true }));

vi.mock("@vd/media", async (original) => {
  const real = await original<typeof import("@vd/media")>();
  const missing = () => {
    throw new VdError({ code: "unsupported", where: "sharp", expected: "the image library", got: "none" });
  };
  return { ...real, loadImage: async (bytes: Uint8Array) => (media.hasLibrary ? real.loadImage(bytes) : missing()) };
});

afterEach(() => {
  media.hasLibrary = true;
});

describe("pictures without the image library", () => {
  const image = testPicture(24, 16);

  it("are PNG files that the library reads too", async () => {
    const png = encodePlainPng(image);
    expect(await loadImage(png)).toEqual(image);
    media.hasLibrary = false;
    expect(await readPicture("a.png", png)).toEqual(image);
  });

  it("are refused if they are of another kind, by the file's name", async () => {
    const sharp = await loadSharp();
    const grey = await sharp({ create: { width: 4, height: 4, channels: 3, background: "#777" } })
      .toColourspace("b-w")
      .png()
      .toBuffer();
    media.hasLibrary = false;
    for (const bytes of [grey, Buffer.from("GIF89a")])
      await expect(readPicture("a.gif", bytes)).rejects.toThrow("[a.gif] expected the image library, got none");
  });
});
