import { VdError } from "@vd/kernels-native";
import { actionIndex } from "../model/actions";
import { bytesPerPixel, pictureInWords } from "../model/picture-levels";
import type { LivePicture } from "./types";

/** What the reader has told a session to do and no frame has taken yet. */
export class Steering {
  /** The action of the newest frame. */
  action = 0;
  private pending: number | undefined;
  /** Doing nothing, when it follows an action that has not acted yet. */
  private rest: number | undefined;
  private readonly video: Uint8Array;
  private hasVideo = false;

  constructor(
    private readonly actions: readonly string[],
    private readonly size: { width: number; height: number },
  ) {
    this.video = new Uint8Array(size.width * size.height * 3);
  }

  /**
   * Takes an action from the next edge on.
   *
   * @throws VdError `attr`
   */
  act(action: string | number): void {
    const index = actionIndex(this.actions, action);
    const isRest = index === 0 && this.pending !== undefined && this.pending !== 0;
    this.rest = isRest ? index : undefined;
    if (!isRest) this.pending = index;
  }

  /**
   * Takes a picture in; the next edge has it.
   *
   * @throws VdError `shape`
   */
  push(picture: LivePicture): void {
    const { size, video } = this;
    const stride = bytesPerPixel(picture, size);
    if (stride === undefined) {
      const expected = `a picture of ${size.width} x ${size.height}, RGB or RGBA`;
      throw new VdError({ code: "shape", where: "session] [push", expected, got: pictureInWords(picture) });
    }
    const { data } = picture;
    if (stride === 3) video.set(data);
    else
      for (let pixel = 0, at = 0; at < video.length; pixel += stride)
        for (let c = 0; c < 3; c++) video[at++] = data[pixel + c]!;
    this.hasVideo = true;
  }

  /** The action of the frame that begins. */
  takeAction(): number {
    if (this.pending !== undefined) {
      this.action = this.pending;
      this.pending = this.rest;
      this.rest = undefined;
    }
    return this.action;
  }

  /** The levels of the picture that came in since the frame before, [H,W,3]. */
  takeVideo(): Uint8Array | undefined {
    if (!this.hasVideo) return undefined;
    this.hasVideo = false;
    return this.video;
  }

  /** Goes on with `action` as if nothing was asked for. */
  reset(action: number): void {
    this.action = action;
    this.pending = undefined;
    this.rest = undefined;
    this.hasVideo = false;
  }
}
