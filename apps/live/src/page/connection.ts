/// <reference lib="dom" />
import type { PageRequest, ServerNotice } from "../protocol/control";
import { decodeFrame, type FrameMessage } from "../protocol/frame-message";

/** What a page does with what it is told. */
export interface ConnectionListener {
  onNotice(notice: ServerNotice): void;
  /** Settles when the frame is on the screen. */
  onFrame(frame: FrameMessage): Promise<void>;
  onLost(): void;
}

const RETRY_MS = 1500;

/** The page's WebSocket, opened again when it breaks off. */
export class Connection {
  private socket: WebSocket | undefined;
  private numDrawn = 0;
  /** Frames are shown one after the other, also those that take a while to decode. */
  private drawing = Promise.resolve();

  constructor(private readonly listener: ConnectionListener) {
    this.open();
  }

  /** Asks the server for something; nothing happens while there is no connection. */
  ask(request: PageRequest): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(request));
  }

  /** Sends a picture if those before are gone; false if not. */
  sendPicture(message: Uint8Array): boolean {
    const { socket } = this;
    if (socket?.readyState !== WebSocket.OPEN || socket.bufferedAmount > 0) return false;
    socket.send(message as Uint8Array<ArrayBuffer>);
    return true;
  }

  private open(): void {
    // Beside the page, wherever that lies.
    const address = new URL(`socket${location.search}`, location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.numDrawn = 0;
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === "string") return this.listener.onNotice(JSON.parse(data) as ServerNotice);
      const frame = decodeFrame(new Uint8Array(data));
      if (frame) this.drawing = this.drawing.then(() => this.show(socket, frame));
    };
    socket.onclose = () => {
      this.listener.onLost();
      setTimeout(() => this.open(), RETRY_MS);
    };
  }

  private async show(socket: WebSocket, frame: FrameMessage): Promise<void> {
    // A frame that cannot be decoded counts as shown: the next one may be whole.
    await this.listener.onFrame(frame).catch(() => {});
    if (socket === this.socket) this.ask({ type: "drawn", count: ++this.numDrawn });
  }
}
