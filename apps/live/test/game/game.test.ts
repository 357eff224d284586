import { setTimeout } from "node:timers/promises";
import { DEFAULT_GUARD } from "@vd/live";
import { afterEach, expect, it } from "vitest";
import { Game } from "../../src/game/game";
import { FakeSession } from "../support/fake-session";

const games: Game[] = [];
afterEach(async () => {
  for (const game of games.splice(0)) await game.close();
});

/** Sessions that take a moment to be opened and closed, as those of a model do. */
function slowSessions(ms: number) {
  const opened: FakeSession[] = [];
  let mostAtOnce = 0;
  class SlowSession extends FakeSession {
    private closing: Promise<void> | undefined;
    override close(): Promise<void> {
      this.closed = true;
      this.closing ??= setTimeout(ms);
      return this.closing;
    }
  }
  const openSession = async (options: FakeSession["options"]) => {
    await setTimeout(ms);
    const session = new SlowSession(options);
    opened.push(session);
    mostAtOnce = Math.max(mostAtOnce, opened.filter(({ closed }) => !closed).length);
    return session;
  };
  return { opened, openSession, mostAtOnce: () => mostAtOnce };
}

async function play(sessions: ReturnType<typeof slowSessions>) {
  const game = await Game.open(sessions.openSession, {});
  games.push(game);
  game.watch();
  const seen: string[] = [];
  game.onFrame(({ index }) => void seen.push(`${sessions.opened.at(-1)!.options.seed}:${index}`));
  const run = { ended: false };
  void game.run().finally(() => {
    run.ended = true;
  });
  return { game, seen, run };
}

it("opens one new game at a time, and of those that are asked for meanwhile the last one alone", async () => {
  const sessions = slowSessions(15);
  const { game, seen } = await play(sessions);
  const first = game.start("desert-noon", 1);
  await setTimeout(5);
  await Promise.all([first, ...Array.from({ length: 49 }, (_, i) => game.start("desert-noon", i + 2))]);
  expect(sessions.opened.map(({ options }) => options.seed)).toEqual([undefined, 1, 50]);
  expect(sessions.mostAtOnce()).toBeLessThanOrEqual(2);
  expect(game.state.seed).toBe(50);
  await expect.poll(() => seen.at(-1)).toMatch(/^50:\d+$/);
});

it("plays on whenever new games are asked for", async () => {
  const sessions = slowSessions(10);
  const { game, seen, run } = await play(sessions);
  for (let i = 1; i <= 25; i++) {
    void game.start("desert-noon", i).catch(() => {});
    await setTimeout(i % 13);
  }
  await expect.poll(() => game.state.seed).toBe(25);
  await expect.poll(() => seen.at(-1)).toMatch(/^25:[1-9]/);
  expect(run.ended).toBe(false);
  expect(sessions.opened.filter(({ closed }) => !closed).length).toBe(1);
});

it("tells whoever asked for a game that cannot be opened, and opens the next one", async () => {
  const { openSession } = slowSessions(5);
  const game = await Game.open((options) => {
    if (options.seed === 1) throw new Error("no memory");
    return openSession(options);
  }, {});
  games.push(game);
  await expect(game.start("desert-noon", 1)).rejects.toThrow("no memory");
  await game.start("desert-noon", 2);
  expect(game.state.seed).toBe(2);
});

it("steers the game that is about to be played", async () => {
  const sessions = slowSessions(20);
  const { game } = await play(sessions);
  const started = game.start("desert-noon", 3);
  await expect.poll(() => sessions.opened.length).toBe(2);
  await Promise.all([game.setSteps(2), game.keep(), started]);
  expect(sessions.opened[1]!.parameters.steps).toBe(2);
  expect(sessions.opened[0]!.parameters.steps).toBeUndefined();
});

it("goes back to a moment with its steps and its game, and with the keys that are held now", async () => {
  const sessions = slowSessions(5);
  const { game } = await play(sessions);
  const player = {};
  game.hold(player, ["ArrowRight"]);
  await game.setSteps(2);
  await game.keep();
  await game.setSteps(1);
  await game.start("snow-sunset", 9);
  game.hold(player, []);
  await game.back();
  expect(game.state).toMatchObject({ start: "meadow-morning", seed: 0, steps: 2 });
  expect(sessions.opened[1]!.acted.at(-1)).toBe("none");
  game.hold(player, ["ArrowLeft"]);
  await game.back();
  expect(sessions.opened[1]!.acted.at(-1)).toBe("left");
  await game.start("desert-noon");
  expect(sessions.opened[1]!.acted.slice(-2)).toEqual(["left", "left"]);
});

it("brings dull pictures back unless a player wants none of it, in new games too", async () => {
  const sessions = slowSessions(5);
  const { game } = await play(sessions);
  expect(game.state.recover).toBe(true);
  await game.setRecover(false);
  expect(game.state.recover).toBe(false);
  expect(sessions.opened[0]!.parameters.guard).toEqual({ recover: 0 });
  await game.start("desert-noon", 3);
  expect(sessions.opened[1]!.options.guard).toEqual({ recover: 0 });
  await game.setRecover(true);
  expect(sessions.opened[1]!.parameters.guard).toEqual({ recover: DEFAULT_GUARD.recover });
  await game.start("desert-noon", 4);
  expect(sessions.opened[2]!.options.guard).toBeUndefined();
});

it("keeps what was typed of a guard when a player turns it off and on", async () => {
  const sessions = slowSessions(5);
  const game = await Game.open(sessions.openSession, { guard: { anchor: 0.1, recover: 0.2 } });
  games.push(game);
  await game.setRecover(false);
  await game.start("desert-noon", 3);
  expect(sessions.opened[1]!.options.guard).toEqual({ anchor: 0.1, recover: 0 });
  await game.setRecover(true);
  expect(sessions.opened[1]!.parameters.guard).toEqual({ recover: 0.2 });
});

it("makes changes in the order in which they are asked for, for the game that is being opened too", async () => {
  const sessions = slowSessions(20);
  const { game } = await play(sessions);
  // A page begins a new game; before it is there, another page chooses steps and the switch.
  const started = game.start("desert-noon", 3);
  await setTimeout(5);
  await Promise.all([started, game.setSteps(2), game.setRecover(false)]);
  expect(game.state).toMatchObject({ start: "desert-noon", seed: 3, steps: 2, recover: false });
  expect(sessions.opened[1]!.parameters).toMatchObject({ steps: 2, guard: { recover: 0 } });
  // A state that is being kept can be gone back to.
  await Promise.all([game.keep(), game.setSteps(1), game.back()]);
  expect(game.state.steps).toBe(2);
});
