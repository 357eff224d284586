/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import type { GameState, GameStats, PageModel, ServerNotice } from "../protocol/control";
import type { FrameMessage } from "../protocol/frame-message";
import { Camera } from "./camera";
import { Connection } from "./connection";
import { element } from "./element";
import { Graph } from "./graph";
import { Keys } from "./keys";
import { ReactionTimes } from "./reaction-times";
import { Screen } from "./screen";
import { Words } from "./words";

const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const CALM_GRAPH_MS = 1000;
const ERROR_SHOWN_MS = 8000;

const screen = new Screen();
const graph = new Graph(40, isCalm ? CALM_GRAPH_MS : 0);
const reactions = new ReactionTimes();
const camera = new Camera();
let model: PageModel | undefined;
let state: GameState | undefined;
let errorTimer = 0;
let isLost = false;
/** Whether the newest press was one of a mouse, a pen or a finger, not of a key. */
let isByPointer = false;

const connection = new Connection({ onNotice, onFrame, onLost });
const words = new Words((request) => connection.ask(request));
const keys = new Keys((held, whenMs) => {
  connection.ask({ type: "keys", held, input: reactions.press(whenMs) });
  // The time of a pause is none that a picture took.
  if (state?.paused) reactions.forget();
});

function onNotice(notice: ServerNotice): void {
  switch (notice.type) {
    case "hello":
      onHello(notice.model, notice.state, notice.camera);
      break;
    case "state":
      onState(notice.state);
      break;
    case "stats":
      onStats(notice.stats);
      break;
    case "error":
      showError(notice.message);
  }
}

function onHello(given: PageModel, first: GameState, wantsCamera: boolean): void {
  const isFirst = model === undefined;
  isLost = false;
  reactions.forget();
  model = given;
  document.title = `${model.name} · vd-live`;
  element("name").textContent = model.name;
  screen.resize(model.width, model.height);
  graph.setDeadline(1000 / model.fps);
  element("hint").textContent = keys.setModel(model.keys);
  words.setModel(model);
  fillSteps(model.steps);
  fillStarts(model.starts, first.start);
  element<HTMLInputElement>("seed").value = String(first.seed);
  onState(first);
  if (!isFirst) return;
  screen.focus();
  // Whoever asks for less motion starts the game by hand.
  if (isCalm && !first.paused) connection.ask({ type: "pause" });
  if (wantsCamera) void toggleCamera();
}

function onState(now: GameState): void {
  if (now.paused !== state?.paused) reactions.forget();
  state = now;
  element("status").textContent = now.start === "" ? `seed ${now.seed}` : `${now.start}, seed ${now.seed}`;
  showVeil();
  const pause = element("pause");
  pause.textContent = now.paused ? "Play" : "Pause";
  pause.classList.toggle("on", now.paused);
  element<HTMLSelectElement>("steps").value = String(now.steps);
  element<HTMLButtonElement>("back").disabled = !now.kept;
  for (const id of ["recover-field", "recover-hint"]) element(id).hidden = now.recover === undefined;
  element<HTMLInputElement>("recover").checked = now.recover === true;
  words.show(now.words);
}

/** Says over the picture why it stands still. */
function showVeil(): void {
  const veil = element("veil");
  veil.textContent = isLost ? "No connection" : "Paused";
  veil.hidden = !isLost && !state?.paused;
}

function onStats({ fps, skipped, misses, drift }: GameStats): void {
  if (!state?.paused) element("fps").textContent = fps.toFixed(1);
  element("skipped").textContent = `${skipped} · ${misses}`;
  if (!drift) return;
  element<HTMLMeterElement>("drift").value = drift.collapse;
  element("drift-text").textContent =
    `${Math.round(100 * drift.collapse)} %, colours moved by ${drift.colourDrift.toFixed(2)}`;
}

async function onFrame(frame: FrameMessage): Promise<void> {
  await screen.draw(frame);
  document.documentElement.dataset.frame = String(frame.index);
  graph.add(frame.latencyMs);
  element("made").textContent = `${frame.latencyMs.toFixed(0)} ms`;
  // A page that nobody sees shows nothing.
  if (document.hidden) return reactions.forget();
  // The picture reaches the display with the next refresh.
  requestAnimationFrame(() => {
    if (reactions.seen(frame.input, performance.now()) && reactions.medianMs !== undefined)
      element("key-ms").textContent = `${reactions.medianMs.toFixed(0)} ms`;
  });
}

function onLost(): void {
  // Every attempt that fails is another loss; one is news.
  if (isLost) return;
  isLost = true;
  element("status").textContent = "The connection is lost; vd-live may have ended. Trying again …";
  element("fps").textContent = "–";
  showVeil();
  camera.stop();
  showCamera();
}

function showError(message: string): void {
  const place = element("error");
  place.textContent = message;
  place.hidden = false;
  clearTimeout(errorTimer);
  errorTimer = window.setTimeout(() => {
    place.hidden = true;
  }, ERROR_SHOWN_MS);
}

function fillSteps(steps: readonly number[]): void {
  element("steps").replaceChildren(...steps.map((count) => new Option(String(count), String(count))));
}

function fillStarts(starts: readonly string[], chosen: string): void {
  element("starts").replaceChildren(
    ...starts.map((name) => {
      const label = document.createElement("label");
      const radio = Object.assign(document.createElement("input"), { type: "radio", name: "start", value: name });
      radio.checked = name === chosen;
      const picture = Object.assign(document.createElement("img"), {
        alt: "",
        src: `start/${name}.png${location.search}`,
      });
      const words = Object.assign(document.createElement("span"), { textContent: name.replaceAll("-", " ") });
      label.append(radio, picture, words);
      return label;
    }),
  );
}

async function toggleCamera(): Promise<void> {
  if (camera.isOn) camera.stop();
  else if (model) {
    const { width, height, fps } = model;
    const send = (message: Uint8Array) => connection.sendPicture(message);
    await camera.start({ width, height, fps, send }).catch((error: Error) => showError(error.message));
  }
  showCamera();
}

function showCamera(): void {
  element("camera").setAttribute("aria-pressed", String(camera.isOn));
}

/** After a choice by the pointer keys steer again; whoever goes by keyboard stays where they are. */
const backToGame = () => isByPointer && screen.focus();

addEventListener("pointerdown", () => (isByPointer = true), { capture: true });
addEventListener("keydown", () => (isByPointer = false), { capture: true });
element("pause").addEventListener("click", () => connection.ask({ type: state?.paused ? "resume" : "pause" }));
element("keep").addEventListener("click", () => connection.ask({ type: "keep" }));
element("back").addEventListener("click", () => connection.ask({ type: "back" }));
element("camera").addEventListener("click", () => void toggleCamera());
element<HTMLSelectElement>("steps").addEventListener("change", ({ target }) => {
  connection.ask({ type: "steps", steps: Number((target as HTMLSelectElement).value) });
  backToGame();
});
element<HTMLInputElement>("recover").addEventListener("change", ({ target }) => {
  connection.ask({ type: "recover", on: (target as HTMLInputElement).checked });
  backToGame();
});
element<HTMLFormElement>("new").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = document.querySelector<HTMLInputElement>("#starts :checked")?.value ?? "";
  const seed = element<HTMLInputElement>("seed").valueAsNumber;
  // Models of pictures have no start states.
  if ((name === "" && model?.starts.length !== 0) || !Number.isInteger(seed))
    return void showError("A new game needs a start state and a whole number as its seed.");
  connection.ask({ type: "start", name, seed });
  screen.focus();
});
for (const button of document.querySelectorAll<HTMLButtonElement>(".bar button"))
  button.addEventListener("click", (event) => event.detail > 0 && screen.focus());
