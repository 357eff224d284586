import { resolve } from "node:path";
import { VdError } from "@vd/kernels-native";
import {
  actionForKeys,
  DEFAULT_GUARD,
  type LiveFrame,
  type LivePicture,
  type LiveSession,
  type LiveSessionOptions,
  type LiveSnapshot,
} from "@vd/live";
import { PICTURE_DEFAULTS } from "../options/tables";
import type { GameState, GameStats, PageModel, PictureWords } from "../protocol/control";

/** Opens sessions: `createLiveSession` of `@vd/live`, or what a test has instead. */
export type OpenSession = (options: LiveSessionOptions) => Promise<LiveSession>;

/** Who steers: a page, or the command line. */
export type Player = object;

/** Takes every frame of a game. What it returns is waited for; the frame's `data` is its own after `slice()` only. */
export type FrameTaker = (frame: LiveFrame) => void | Promise<void>;

const wordsOf = ({ prompt, negativePrompt, strength, guidanceScale }: LiveSessionOptions): PictureWords => ({
  prompt: prompt ?? "",
  negativePrompt: negativePrompt ?? "",
  strength: strength ?? PICTURE_DEFAULTS.strength,
  guidanceScale: guidanceScale ?? PICTURE_DEFAULTS.guidanceScale,
});

/** A moment that a game can go back to. */
interface KeptMoment {
  snapshot: LiveSnapshot;
  /** The game that it belongs to. */
  game: Pick<GameState, "start" | "seed">;
}

/** How far dull pictures are drawn back by a session with these options. */
const recoveryOf = ({ guard = true }: LiveSessionOptions): number =>
  typeof guard === "object" ? (guard.recover ?? DEFAULT_GUARD.recover) : guard ? DEFAULT_GUARD.recover : 0;

/** One game that several pages may watch and steer: a session, and another one after it when a new seed is asked for. */
export class Game {
  private readonly takers = new Set<FrameTaker>();
  private readonly held = new Map<Player, readonly string[]>();
  private readonly stateListeners = new Set<() => void>();
  private kept: KeptMoment | undefined;
  private next: LiveSession | undefined;
  /** The newest game that was asked for and not opened yet. */
  private asked: { start: string; seed: number } | undefined;
  /** The opening of new games, one after the other. */
  private opening: Promise<void> | undefined;
  /** The newest of the changes, which are made one after the other: what is asked for while another game is being opened counts for that one. */
  private turn: Promise<unknown> = Promise.resolve();
  private isClosed = false;
  private isPausedByPlayer = false;
  private numWatchers = 0;
  private current: Pick<GameState, "start" | "seed" | "steps" | "recover" | "words">;
  private action: string;
  /** Words that took the place of those of the options. */
  private told: Partial<PictureWords> = {};

  private constructor(
    private readonly openSession: OpenSession,
    private readonly options: LiveSessionOptions,
    private session: LiveSession,
  ) {
    const { model } = session;
    const start = typeof options.start === "string" ? options.start : (model.starts[0]?.name ?? "");
    const words = model.kind === "pictures" ? wordsOf(options) : undefined;
    const recover = model.kind === "game" ? recoveryOf(options) > 0 : undefined;
    this.current = {
      start,
      seed: Number(options.seed ?? 0),
      steps: options.steps ?? model.defaultSteps,
      recover,
      words,
    };
    this.action = model.actions[0]!;
  }

  /**
   * Opens a game.
   *
   * @throws VdError what opening a session throws
   */
  static async open(openSession: OpenSession, options: LiveSessionOptions): Promise<Game> {
    return new Game(openSession, options, await openSession(options));
  }

  get model(): PageModel {
    const { model, width, height, fps } = this.session;
    const { name, actions, keys } = model;
    const starts = model.starts.map((start) => start.name);
    const { guidance = "none" } = this.options;
    const words = this.current.words && {
      negative: guidance === "initialize" || guidance === "full",
      guidance: guidance !== "none" || this.options.guidanceScale !== undefined,
    };
    return { name, width, height, fps, actions, keys, starts, steps: [...model.sigmas.keys()], words };
  }

  /** Picture file of a start state: its context frames side by side, the newest at the right. */
  startPicture(name: string): string | undefined {
    const { folder, starts } = this.session.model;
    const file = starts.find((start) => start.name === name)?.file;
    return file === undefined ? undefined : resolve(folder, file);
  }

  get state(): GameState {
    return { ...this.current, paused: this.isPausedByPlayer, kept: this.kept !== undefined };
  }

  stats(): GameStats {
    const { fps, frames, skipped, misses, latencyMs, drift } = this.session.stats();
    const { p50, p95, p99 } = latencyMs;
    const seen = drift && { colourDrift: drift.colourDrift, collapse: drift.collapse };
    return { fps, frames, skipped, misses, latencyMs: { p50, p95, p99 }, drift: seen };
  }

  /** Hands every frame to `taker` until the function that comes back is called. */
  onFrame(taker: FrameTaker): () => void {
    this.takers.add(taker);
    return () => this.takers.delete(taker);
  }

  /** Calls `listener` when {@link state} has changed. */
  onState(listener: () => void): () => void {
    this.stateListeners.add(listener);
    return () => this.stateListeners.delete(listener);
  }

  /** Counts somebody who watches; without anybody the game stands still. Returns what ends it. */
  watch(): () => void {
    this.countWatchers(1);
    return () => this.countWatchers(-1);
  }

  /** Reads frames and hands them on until the game is closed. Rejects with what the session or a taker throws. */
  async run(): Promise<void> {
    try {
      await this.settlePause();
      while (!this.isClosed) {
        for await (const frame of this.session) {
          for (const taker of this.takers) await taker(frame);
          if (this.isClosed || this.next !== undefined) break;
        }
        if (this.next === undefined) break;
        await this.session.close();
        [this.session, this.next] = [this.next, undefined];
      }
    } finally {
      await this.close();
    }
  }

  /** Notes the keys that a player holds. Returns the action that follows from all players' keys. */
  hold(player: Player, keys: readonly string[]): string {
    // Set anew, so that those who pressed last come last.
    this.held.delete(player);
    if (keys.length > 0) this.held.set(player, keys);
    const action = actionForKeys(this.session.model, [...this.held.values()].flat());
    if (action !== this.action) this.act(action);
    return action;
  }

  /**
   * Does an action until another one follows.
   *
   * @throws VdError `attr`
   */
  act(action: string): void {
    if (this.isClosed) return;
    this.steered.act(action);
    this.action = action;
  }

  /**
   * Takes a picture as video in.
   *
   * @throws VdError `shape`
   */
  push(picture: LivePicture): void {
    if (!this.isClosed) this.steered.push(picture);
  }

  async pause(): Promise<void> {
    this.isPausedByPlayer = true;
    await this.settlePause();
    this.changed();
  }

  async resume(): Promise<void> {
    this.isPausedByPlayer = false;
    await this.settlePause();
    this.changed();
  }

  /**
   * Takes another number of steps for a frame.
   *
   * @throws VdError `attr`
   */
  setSteps(steps: number): Promise<void> {
    return this.inTurn(async () => {
      await this.steered.set({ steps });
      this.current = { ...this.current, steps };
      this.changed();
    });
  }

  /**
   * Brings pictures back that went dull, or lets them be.
   *
   * @throws VdError `attr` for a model that is no game
   */
  setRecover(on: boolean): Promise<void> {
    return this.inTurn(async () => {
      await this.steered.set({ guard: { recover: on ? recoveryOf(this.options) || DEFAULT_GUARD.recover : 0 } });
      this.current = { ...this.current, recover: on };
      this.changed();
    });
  }

  /**
   * Takes other words, or numbers, for what frames show.
   *
   * @throws VdError `attr`, `unsupported` for a game, which has none
   */
  async setWords(given: Partial<PictureWords>): Promise<void> {
    const { words: before } = this.current;
    if (before === undefined) {
      const expected = "a model of pictures";
      throw new VdError({ code: "unsupported", where: "game", expected, got: `the game ${this.model.name}` });
    }
    const { prompt, negativePrompt, strength, guidanceScale } = given;
    const told = Object.entries({ prompt, negativePrompt, strength, guidanceScale });
    const change = Object.fromEntries(told.filter(([, value]) => value !== undefined)) as Partial<PictureWords>;
    const taken = this.inTurn(() => this.steered.set(change));
    // Shown at once: a game that stands still takes them with its next frame.
    this.tellWords({ ...before, ...change });
    try {
      await taken;
      this.told = { ...this.told, ...change };
    } catch (error) {
      this.tellWords(before);
      throw error;
    }
  }

  /**
   * Begins a new game. The noise goes on where no seed is given, and begins anew where one is.
   *
   * @throws VdError `attr` for an unknown start state
   */
  async start(name: string, seed?: number): Promise<void> {
    this.requireStart(name);
    if (seed !== undefined) return this.replaceSession({ start: name, seed });
    return this.inTurn(async () => {
      const { steered } = this;
      await steered.restart(name);
      steered.act(this.action);
      this.current = { ...this.current, start: name };
      this.changed();
    });
  }

  /** Keeps the state of now in memory. */
  keep(): Promise<void> {
    return this.inTurn(async () => {
      const { start, seed } = this.current;
      this.kept = { snapshot: await this.steered.snapshot(), game: { start, seed } };
      this.changed();
    });
  }

  /**
   * Goes back to the state that was kept, with its steps. Keys that are held go on acting, and those that were held then do not.
   *
   * @throws VdError `unsupported` where there is none
   */
  back(): Promise<void> {
    return this.inTurn(async () => {
      if (this.kept === undefined) {
        const expected = "a state that was kept before";
        throw new VdError({ code: "unsupported", where: "game", expected, got: "none" });
      }
      const { snapshot, game } = this.kept;
      const { steered } = this;
      await steered.restore(snapshot);
      steered.act(this.action);
      this.current = { ...this.current, ...game, steps: snapshot.steps };
      this.changed();
    });
  }

  /** Ends the game and frees its memory. Can be called again. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([this.session.close(), this.next?.close()]);
  }

  /** The guard of a session that goes on as this one plays. */
  private get guard(): LiveSessionOptions["guard"] {
    const { recover } = this.current;
    if (recover === undefined || recover === recoveryOf(this.options) > 0) return this.options.guard;
    const typed = typeof this.options.guard === "object" ? this.options.guard : {};
    return { ...typed, recover: recover ? DEFAULT_GUARD.recover : 0 };
  }

  private tellWords(words: PictureWords): void {
    this.current = { ...this.current, words };
    this.changed();
  }

  private requireStart(name: string): void {
    const names = this.session.model.starts.map((start) => start.name);
    if (names.includes(name) || (names.length === 0 && name === "")) return;
    throw new VdError({ code: "attr", where: "start", expected: `one of ${names.join(", ")}`, got: `"${name}"` });
  }

  /** Makes a change once those before it are made. */
  private inTurn<T>(change: () => Promise<T>): Promise<T> {
    const result = this.turn.then(change);
    this.turn = result.catch(() => undefined);
    return result;
  }

  /** Goes on with another session. They are opened one at a time, and of several that are asked for meanwhile the last one alone: each has a
   *  model's memory. */
  private replaceSession(asked: { start: string; seed: number }): Promise<void> {
    this.asked = asked;
    this.opening ??= this.inTurn(() => this.openAsked());
    return this.opening;
  }

  private async openAsked(): Promise<void> {
    try {
      while (this.asked !== undefined && !this.isClosed) {
        const { start, seed } = this.asked;
        this.asked = undefined;
        const { guard } = this;
        const { steps } = this.current;
        const options = { ...this.options, ...this.told, start: start || undefined, seed, steps, guard };
        await this.goOnWith(await this.openSession(options));
        this.current = { ...this.current, start, seed };
        this.changed();
      }
    } finally {
      this.opening = undefined;
    }
  }

  private async goOnWith(opened: LiveSession): Promise<void> {
    if (this.isClosed) return opened.close();
    opened.act(this.action);
    // Both before anything is waited for: the reading loop ends where there is no next one, and what it plays then is the next one.
    const [played, passedOver] = [this.session, this.next];
    this.next = opened;
    await passedOver?.close();
    // Ends the reading loop, which goes on with the next one.
    await played.close();
    if (this.isStanding && !opened.closed) await opened.pause();
  }

  /** The session that is played, or the one that is about to be. */
  private get steered(): LiveSession {
    return this.next ?? this.session;
  }

  private countWatchers(change: number): void {
    this.numWatchers += change;
    // A session that has ended meanwhile needs no pause; why it ended is told by run().
    this.settlePause().catch(() => {});
  }

  private get isStanding(): boolean {
    return this.isPausedByPlayer || this.numWatchers === 0;
  }

  private async settlePause(): Promise<void> {
    if (this.isClosed) return;
    const { steered } = this;
    if (!this.isStanding) steered.resume();
    else if (!steered.paused) await steered.pause();
  }

  private changed(): void {
    for (const listener of this.stateListeners) listener();
  }
}
