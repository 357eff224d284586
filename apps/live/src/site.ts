import { readFile } from "node:fs/promises";
import { createLiveSession, type LiveSessionOptions } from "@vd/live";
import { Game } from "./game/game";
import { LiveSite } from "./server/site";

export { LiveSite, MAX_MESSAGE_BYTES } from "./server/site";

/** A game that runs, and its site. */
export interface OpenSite {
  site: LiveSite;
  /** Settles when the game has ended; rejects with what ended it. */
  ended: Promise<void>;
  close(): Promise<void>;
}

/** Frames from one measure of drift to the next. */
const DRIFT_EVERY = 10;

/** The built page of vd-live, which lies beside the built module. */
const builtPage = () => readFile(new URL("page.html", import.meta.url), "utf8");

/**
 * Opens a game for another program's HTTP server, which shows its page in a frame. It stands still while nobody watches.
 * page: HTML; default the built page of vd-live.
 *
 * @throws VdError what opening a session throws
 */
export async function openLiveSite(options: LiveSessionOptions = {}, page?: string): Promise<OpenSite> {
  const html = page ?? (await builtPage());
  const game = await Game.open(createLiveSession, { ...options, pace: "clock", drift: { everyFrames: DRIFT_EVERY } });
  const site = new LiveSite(game, { page: html, picture: "auto", camera: false, frameAncestors: "'self'" });
  const ended = game.run();
  // Whoever has the site may wait for it or not.
  ended.catch(() => {});
  const close = async () => {
    site.close();
    await game.close();
  };
  return { site, ended, close };
}
