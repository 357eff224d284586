/// <reference lib="dom" />
import type { FrameMessage } from "../protocol/frame-message";
import { element } from "./element";

/** Alpha of a pixel that hides what is behind. */
const OPAQUE = 255;

/** The canvas with the game. */
export class Screen {
  private readonly canvas = element<HTMLCanvasElement>("screen");
  private readonly context = this.canvas.getContext("2d", { alpha: false })!;
  private image: ImageData | undefined;

  constructor() {
    new ResizeObserver(() => this.fit()).observe(element("stage"));
  }

  /** Takes the game's size in pixels. */
  resize(width: number, height: number): void {
    if (this.canvas.width === width && this.canvas.height === height && this.image) return;
    Object.assign(this.canvas, { width, height });
    this.image = this.context.createImageData(width, height);
    this.fit();
  }

  /** Shows a frame; settles when it is on the canvas. */
  async draw({ format, width, height, data }: FrameMessage): Promise<void> {
    this.resize(width, height);
    if (format === "jpeg") {
      const bitmap = await createImageBitmap(new Blob([data as BlobPart], { type: "image/jpeg" }));
      this.context.drawImage(bitmap, 0, 0);
      bitmap.close();
      return;
    }
    const image = this.image!;
    for (let from = 0, to = 0; from < data.length; from += 3, to += 4) {
      image.data[to] = data[from]!;
      image.data[to + 1] = data[from + 1]!;
      image.data[to + 2] = data[from + 2]!;
      image.data[to + 3] = OPAQUE;
    }
    this.context.putImageData(image, 0, 0);
  }

  focus(): void {
    this.canvas.focus({ preventScroll: true });
  }

  /** Takes the largest whole number of the display's own pixels for one of the game's that fits into the window. */
  private fit(): void {
    const { width, height } = this.canvas;
    const stage = element("stage");
    const padding = 2 * Number.parseFloat(getComputedStyle(stage).paddingLeft);
    const room = { width: stage.clientWidth - padding, height: window.innerHeight * 0.62 };
    const ratio = window.devicePixelRatio;
    const scale = Math.max(1, Math.floor(Math.min((room.width * ratio) / width, (room.height * ratio) / height)));
    this.canvas.style.width = `${(width * scale) / ratio}px`;
    this.canvas.style.height = `${(height * scale) / ratio}px`;
  }
}
