import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import type { Game } from "../game/game";
import { type PageOptions, PageSocket } from "./page-socket";

/** The page of a game, and who may frame it. */
export interface SiteOptions extends PageOptions {
  /** The page, HTML. */
  page: string;
  /** Whose pages may show this one in a frame, as a content security policy says it: `'none'` or `'self'`. */
  frameAncestors: "'none'" | "'self'";
}

/** The largest message of a page: a camera's picture of 4096 by 4096 with four channels. */
export const MAX_MESSAGE_BYTES = 2 ** 26 + 2 ** 10;

/** Hashes of a page's inline scripts or styles, so that nothing else in it runs. */
function hashesOf(page: string, tag: "script" | "style"): string {
  const bodies = [...page.matchAll(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`, "g"))].map(([, body]) => body!);
  return bodies.map((body) => `'sha256-${createHash("sha256").update(body).digest("base64")}'`).join(" ");
}

function headersFor({ page, frameAncestors }: SiteOptions): Record<string, string> {
  const policy = [
    ...["default-src 'none'", "connect-src 'self'", "img-src 'self' blob: data:", "media-src blob:", "base-uri 'none'"],
    ...[`script-src ${hashesOf(page, "script")}`, `style-src ${hashesOf(page, "style")}`],
    ...["form-action 'none'", `frame-ancestors ${frameAncestors}`],
  ].join("; ");
  return {
    "content-security-policy": policy,
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  };
}

/** A game and all pages that show it. Whoever has an HTTP server sends its page and gives it their sockets. */
export class LiveSite {
  private readonly pages = new Set<PageSocket>();
  private readonly stopFrames: () => void;
  /** What an answer with the page, or with a picture of it, has as its headers. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    private readonly game: Game,
    private readonly options: SiteOptions,
  ) {
    this.headers = headersFor(options);
    this.stopFrames = game.onFrame((frame) => {
      if (this.pages.size === 0) return;
      // One copy for all pages: the session's own memory changes with the next frame.
      const data = frame.data.slice();
      for (const page of this.pages) page.offer(frame, data);
    });
  }

  /** The page, HTML. It looks for `socket` and `start/NAME.png` beside itself. */
  get page(): string {
    return this.options.page;
  }

  /** Returns the file with the picture of a start state; undefined where there is no such state. */
  startPicture(name: string): string | undefined {
    return this.game.startPicture(name);
  }

  /** Serves a page over its socket until that is closed. */
  addPage(socket: WebSocket, request: IncomingMessage): void {
    // A frame that waits for more bytes is late.
    request.socket.setNoDelay(true);
    const page = new PageSocket(socket, request, this.game, this.options);
    this.pages.add(page);
    socket.on("close", () => this.pages.delete(page));
  }

  /** Sends no more frames. */
  close(): void {
    this.stopFrames();
  }
}
