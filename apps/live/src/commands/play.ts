import { VdError } from "@vd/kernels-native";
import type { Dependencies } from "../dependencies";
import { Game } from "../game/game";
import { ActionScript } from "../input/action-script";
import { Clip } from "../input/clip";
import type { PlaySettings } from "../options/settings";
import { Pipe } from "../output/pipe";
import { Recorder } from "../output/recorder";
import { LiveServer } from "../server/server";
import { clipOptions, gameOptions, makesClips } from "./session-options";

/** The input that the page's camera is. */
const WEBCAM = "webcam";

const attr = (where: string, expected: string, got: string, hint?: string) =>
  new VdError({ code: "attr", where, expected, got, hint });

/** True for a game without a page. */
const isHeadless = ({ output, actions }: PlaySettings) => output !== undefined || actions !== undefined;

/** What can be refused before anything is opened. */
function checkTogether(settings: PlaySettings): void {
  if (!isHeadless(settings)) return;
  if (settings.input === WEBCAM)
    throw attr("--input", "a video file, since there is no page whose camera could be used", WEBCAM);
  if (settings.output === undefined && settings.record === undefined)
    throw attr("--actions", "a place for the frames", "none", "Add --output - or --record FILE.");
}

/**
 * Plays a game until it is stopped, or has its frames: in a page, or without one into a pipe or a file. A recording is
 * written whole whatever ends the game. onReady: called when nothing more can be wrong with the command line.
 *
 * @throws VdError what cannot be done, naming the option
 */
export async function play(settings: PlaySettings, dependencies: Dependencies, onReady: () => void): Promise<void> {
  checkTogether(settings);
  const isOfClips = await makesClips(settings);
  if (isOfClips && settings.input === WEBCAM)
    throw attr("--input", "a picture, which begins to move", WEBCAM, "Models of clips watch no camera.");
  const pace = isHeadless(settings) ? ("reader" as const) : ("clock" as const);
  const game = await Game.open(dependencies.openSession, {
    ...gameOptions(settings),
    ...(await clipOptions(settings)),
    pace,
  });
  const stop = () => void game.close();
  dependencies.signal.addEventListener("abort", stop, { once: true });
  let recorder: Recorder | undefined;
  let clip: Clip | undefined;
  // Opening takes a moment, in which Ctrl-C may come too.
  if (dependencies.signal.aborted) stop();
  try {
    recorder = settings.record === undefined ? undefined : await openRecorder(settings.record, game);
    // A picture that begins to move is the session's own.
    clip = isOfClips ? undefined : await takeVideo(settings, game, dependencies.signal);
    takeActions(settings, game);
    if (recorder) game.onFrame((frame) => recorder!.add(frame));
    if (settings.frames !== undefined) endAfter(settings.frames, game);
    onReady();
    await (isHeadless(settings) ? runHeadless : runWithPage)(settings, game, dependencies);
  } finally {
    dependencies.signal.removeEventListener("abort", stop);
    await game.close();
    await clip?.close();
    await finish(recorder, settings, dependencies);
  }
}

const openRecorder = (path: string, { model: { width, height, fps } }: Game) =>
  Recorder.open({ path, width, height, fps });

/** Lets a video file steer, if there is one. */
async function takeVideo({ input }: PlaySettings, game: Game, signal: AbortSignal): Promise<Clip | undefined> {
  if (input === undefined || input === WEBCAM) return undefined;
  const clip = await Clip.open(input, game, signal);
  await clip.push(game);
  game.onFrame(() => clip.push(game));
  return clip;
}

/** Lets a script of actions steer, if there is one. */
function takeActions({ actions }: PlaySettings, game: Game): void {
  if (actions === undefined) return;
  const script = ActionScript.read(actions, game.model.actions);
  game.act(script.at(0));
  let next = 1;
  game.onFrame((frame) => {
    if (!frame.repeated) game.act(script.at(next++));
  });
}

function endAfter(frames: number, game: Game): void {
  let count = 0;
  game.onFrame(() => {
    if (++count === frames) void game.close();
  });
}

async function runHeadless(settings: PlaySettings, game: Game, { stdout }: Dependencies): Promise<void> {
  if (settings.output !== undefined) {
    const { width, height, fps } = game.model;
    const pipe = new Pipe(stdout, { format: settings.format, width, height, fps });
    game.onFrame(async (frame) => {
      await pipe.add(frame);
      if (pipe.isClosed) void game.close();
    });
  }
  const stopWatching = game.watch();
  await game.run();
  stopWatching();
}

async function runWithPage(settings: PlaySettings, game: Game, dependencies: Dependencies): Promise<void> {
  const { host, port, picture, input } = settings;
  const page = await dependencies.readPage();
  const server = await LiveServer.start(game, { host, port, picture, page, camera: input === WEBCAM });
  try {
    const elsewhere = server.networkUrls.map((url) => `From other machines: ${url}\n`).join("");
    dependencies.stderr.write(`${game.model.name} at ${server.url}\n${elsewhere}Ctrl-C ends it.\n`);
    if (settings.open) await dependencies.openBrowser(server.url);
    await game.run();
  } finally {
    await server.close();
  }
}

async function finish(recorder: Recorder | undefined, settings: PlaySettings, { stderr }: Dependencies): Promise<void> {
  if (recorder === undefined) return;
  try {
    const written = await recorder.finish();
    if (written === undefined) stderr.write(`${settings.record} was not written: the game had no frames.\n`);
    else
      stderr.write(
        `${settings.record}: ${recorder.numFrames} ${recorder.numFrames === 1 ? "frame" : "frames"}, ${written.fileBytes} bytes.\n`,
      );
    if (written?.warning !== undefined) stderr.write(`Note: ${written.warning}.\n`);
  } finally {
    await recorder.close();
  }
}
