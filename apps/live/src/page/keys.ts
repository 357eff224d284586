/// <reference lib="dom" />
import { element } from "./element";

/** What a change of the held keys is told to: the keys' codes, and when it happened, as `performance.now()`. */
export type KeysListener = (held: string[], whenMs: number) => void;

const SIGNS: Readonly<Record<string, string>> = {
  left: "◀ left",
  right: "right ▶",
  up: "▲ up",
  down: "▼ down",
  jump: "▲ jump",
};
const KEY_NAMES: Readonly<Record<string, string>> = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };

/** True where keys have a meaning of their own. */
function isTyping(target: EventTarget | null, code: string): boolean {
  if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLButtonElement && (code === "Space" || code === "Enter");
}

/** Keys and touch buttons that steer. */
export class Keys {
  /** By what holds them: a key's code, or a finger. */
  private readonly held = new Map<string, string>();
  private keys: Readonly<Record<string, string>> = {};

  constructor(private readonly listener: KeysListener) {
    addEventListener("keydown", (event) => {
      if (!this.isOurs(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      if (!event.repeat) this.press(event.code, event.code, event.timeStamp);
    });
    addEventListener("keyup", (event) => this.release(event.code, event.timeStamp));
    // Keys that are let go while another window has the focus are told to nobody.
    addEventListener("blur", () => this.releaseAll());
    document.addEventListener("visibilitychange", () => document.hidden && this.releaseAll());
  }

  /** Takes the keys of a model, and makes a touch button for each part of its actions. Returns what to tell the player. */
  setModel(keys: Readonly<Record<string, string>>): string {
    this.keys = keys;
    const parts = new Map<string, string[]>();
    for (const [code, part] of Object.entries(keys)) parts.set(part, [...(parts.get(part) ?? []), code]);
    element("pad").replaceChildren(...[...parts].map(([part, codes]) => this.padButton(part, codes[0]!)));
    const hints = [...parts].map(
      ([part, codes]) => `${codes.map((code) => KEY_NAMES[code] ?? code).join(" or ")} ${part}`,
    );
    return hints.join(" · ");
  }

  private isOurs(event: KeyboardEvent): boolean {
    return Object.hasOwn(this.keys, event.code) && !isTyping(event.target, event.code);
  }

  private padButton(part: string, code: string): HTMLButtonElement {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = SIGNS[part] ?? part;
    const finger = (event: PointerEvent) => `${part} ${event.pointerId}`;
    const up = (event: PointerEvent) => {
      button.classList.remove("held");
      this.release(finger(event), event.timeStamp);
    };
    button.addEventListener("pointerdown", (event) => {
      button.setPointerCapture(event.pointerId);
      button.classList.add("held");
      this.press(finger(event), code, event.timeStamp);
    });
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"] as const) button.addEventListener(name, up);
    button.addEventListener("contextmenu", (event) => event.preventDefault());
    // For screen readers and switches, which know no holding.
    button.addEventListener("click", (event) => {
      if (event.detail !== 0) return;
      this.press(part, code, event.timeStamp);
      this.release(part, event.timeStamp);
    });
    return button;
  }

  private press(holder: string, code: string, whenMs: number): void {
    if (this.held.has(holder)) return;
    this.held.set(holder, code);
    this.listener([...this.held.values()], whenMs);
  }

  private release(holder: string, whenMs: number): void {
    if (this.held.delete(holder)) this.listener([...this.held.values()], whenMs);
  }

  private releaseAll(): void {
    if (this.held.size === 0) return;
    this.held.clear();
    this.listener([], performance.now());
  }
}
