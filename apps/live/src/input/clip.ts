import { type RgbImage, readVideo } from "@vd/media";
import type { Game } from "../game/game";

/** A video file as the game's input: one picture of it for every frame of the game, from the start again at its end. */
export class Clip {
  private frames: AsyncGenerator<RgbImage, void>;
  private next: Promise<RgbImage>;

  private constructor(private readonly open: () => AsyncGenerator<RgbImage, void>) {
    this.frames = open();
    this.next = this.read();
  }

  /**
   * Opens a video and decodes its beginning, so that a file that is none is told of before the game starts.
   *
   * @throws VdError `io`, `attr` or `unsupported`, naming `--input`
   */
  static async open(path: string, game: Game, signal: AbortSignal): Promise<Clip> {
    const { width, height, fps } = game.model;
    const options = { size: { width, height }, fps, signal, where: "--input" };
    const clip = new Clip(() => readVideo(path, options));
    await clip.next;
    return clip;
  }

  /** Hands the next picture to the game. */
  async push(game: Game): Promise<void> {
    game.push(await this.next);
    this.next = this.read();
    // Told to whoever waits for it next; a run that ends before does not.
    this.next.catch(() => {});
  }

  /** Ends the decoder, which waits for whoever takes its frames and keeps the process alive meanwhile. */
  async close(): Promise<void> {
    await this.next.catch(() => {});
    await this.frames.return();
  }

  private async read(): Promise<RgbImage> {
    const { value } = await this.frames.next();
    if (value) return value;
    this.frames = this.open();
    return (await this.frames.next()).value!;
  }
}
