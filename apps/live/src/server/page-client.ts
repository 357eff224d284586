import type { LiveFrame } from "@vd/live";
import type { InputTracker } from "../game/input-tracker";
import { encodeFrame, type PictureMessage } from "../protocol/frame-message";

/** Where messages of one page go; closed sockets take them and do nothing. */
export interface MessageSocket {
  send(message: Uint8Array | string): void;
}

/** Makes the picture of a message: raw, or a JPEG file. */
export type EncodePicture = (picture: PictureMessage) => Promise<PictureMessage> | PictureMessage;

/** Frames that are on the way to a page at most. Two, so that one travels while one is drawn. */
export const MAX_ON_THE_WAY = 2;

/** What a page needs of a frame, in memory of its own. */
interface HeldFrame {
  frame: Omit<LiveFrame, "data">;
  data: Uint8Array;
}

/** Sends frames to one page: as many as it draws. A page that is slow gets the newest one and never those before. */
export class PageClient {
  private numSent = 0;
  private numDrawn = 0;
  private waiting: HeldFrame | undefined;
  private isEncoding = false;
  /** Frames that this page was too slow for. */
  numDropped = 0;

  constructor(
    private readonly socket: MessageSocket,
    private readonly inputs: InputTracker,
    private readonly actions: readonly string[],
    private readonly encode: EncodePicture,
    /** Told why a frame could not be sent; the next one is tried all the same. */
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Takes a frame; `data` must not change afterwards. */
  offer(frame: LiveFrame, data: Uint8Array): void {
    if (this.waiting !== undefined) this.numDropped++;
    this.waiting = { frame, data };
    this.sendWaiting().catch(this.onError);
  }

  /** Notes how many frames the page has drawn so far. */
  drawn(count: number): void {
    this.numDrawn = Math.min(Math.max(count, this.numDrawn), this.numSent);
    this.sendWaiting().catch(this.onError);
  }

  private async sendWaiting(): Promise<void> {
    if (this.isEncoding || this.waiting === undefined || this.numSent - this.numDrawn >= MAX_ON_THE_WAY) return;
    const { frame, data } = this.waiting;
    this.waiting = undefined;
    this.numSent++;
    this.isEncoding = true;
    try {
      const picture = await this.encode({ format: "rgb", width: frame.width, height: frame.height, data });
      this.socket.send(encodeFrame(this.messageOf(frame, picture)));
    } catch (error) {
      this.numSent--;
      throw error;
    } finally {
      this.isEncoding = false;
    }
    return this.sendWaiting();
  }

  private messageOf(frame: HeldFrame["frame"], picture: PictureMessage) {
    const { index, steps, repeated, late, cached, latencyMs } = frame;
    const action = Math.max(0, this.actions.indexOf(frame.action));
    const input = this.inputs.takenIn(frame.action);
    return { ...picture, index, action, steps, repeated, late, cached, latencyMs, input };
  }
}
