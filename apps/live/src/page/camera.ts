/// <reference lib="dom" />
import { encodePicture } from "../protocol/frame-message";

/** Where a camera's pictures go. */
export interface CameraTarget {
  width: number;
  height: number;
  fps: number;
  /** Takes a message; false if there is no room for it now. */
  send(message: Uint8Array): boolean;
}

/** The camera, scaled to the model's size and sent picture by picture. */
export class Camera {
  private readonly video = document.createElement("video");
  private stream: MediaStream | undefined;
  private timer = 0;

  get isOn(): boolean {
    return this.stream !== undefined;
  }

  /**
   * Asks for the camera and sends its pictures until {@link stop}.
   *
   * @throws Error in a sentence for the person
   */
  async start(target: CameraTarget): Promise<void> {
    if (!navigator.mediaDevices?.getUserMedia)
      throw new Error(
        "This browser gives cameras to pages of this machine or over HTTPS only: open the page as localhost.",
      );
    const wanted = {
      width: { ideal: target.width },
      height: { ideal: target.height },
      frameRate: { ideal: target.fps },
    };
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ video: wanted, audio: false });
    } catch (error) {
      throw new Error(`There is no camera for the game: ${error instanceof Error ? error.message : String(error)}.`);
    }
    this.video.muted = true;
    this.video.playsInline = true;
    this.video.srcObject = this.stream;
    await this.video.play();
    const canvas = new OffscreenCanvas(target.width, target.height);
    const context = canvas.getContext("2d", { alpha: false, willReadFrequently: true })!;
    this.timer = window.setInterval(() => this.sendPicture(context, target), 1000 / target.fps);
  }

  stop(): void {
    clearInterval(this.timer);
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.stream = undefined;
    this.video.srcObject = null;
  }

  private sendPicture(context: OffscreenCanvasRenderingContext2D, target: CameraTarget): void {
    const { videoWidth, videoHeight } = this.video;
    if (videoWidth === 0 || document.hidden) return;
    const { width, height } = target;
    // The middle of the picture in the model's shape.
    const scale = Math.min(videoWidth / width, videoHeight / height);
    const [w, h] = [width * scale, height * scale];
    context.drawImage(this.video, (videoWidth - w) / 2, (videoHeight - h) / 2, w, h, 0, 0, width, height);
    const { data } = context.getImageData(0, 0, width, height);
    target.send(encodePicture({ format: "rgba", width, height, data: new Uint8Array(data.buffer) }));
  }
}
