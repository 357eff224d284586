/** Frames [F,H,W,3] of a video: smooth gradients with a disc that moves one way; `phase` turns the colours. */
export function gradientFrames(width: number, height: number, numFrames: number, phase = 0): Uint8Array {
  const frames = new Uint8Array(numFrames * height * width * 3);
  let at = 0;
  for (let f = 0; f < numFrames; f++) {
    const centreX = (width * (f + 1)) / (numFrames + 1);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const isInDisc = (x - centreX) ** 2 + (y - height / 2) ** 2 < (height / 5) ** 2;
        frames[at++] = isInDisc ? 210 : (255 * x) / width;
        frames[at++] = isInDisc ? 70 : (200 * y) / height;
        frames[at++] = isInDisc ? 40 : 60 + ((phase * 7) % 120);
      }
    }
  }
  return frames;
}
