import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { WebSocket } from "ws";

/** The program of a Chromium on this machine, or undefined. */
export const chromium = ["chromium", "chromium-browser", "google-chrome"].find(
  (name) => spawnSync(name, ["--version"]).status === 0,
);

const START_MS = 30_000;
const POLL_MS = 25;
const quoted = JSON.stringify;

/** Keys that {@link Browser.type} knows: name, number, and the text that they write. */
const KEYS = {
  ArrowUp: ["ArrowUp", 38, ""],
  ArrowDown: ["ArrowDown", 40, ""],
  Space: [" ", 32, " "],
  Tab: ["Tab", 9, ""],
} as const;

/** One page of a Chromium without a window, driven over its debugging protocol. */
export class Browser {
  /** What the page's console said. */
  readonly console: string[] = [];
  private count = 0;
  private readonly waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();

  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    private readonly socket: WebSocket,
  ) {
    socket.on("message", (data) => this.take(JSON.parse(String(data))));
  }

  /** Starts a browser with an empty page. It has a camera that shows a moving picture, and nobody is asked for it. */
  static async start(): Promise<Browser> {
    const folder = mkdtempSync(join(tmpdir(), "vd-browser-"));
    const words = [
      ...["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", `--user-data-dir=${folder}`],
      ...["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--no-first-run", "about:blank"],
    ];
    // A group of its own, which ends as one: a helper that outlives the browser writes into its folder again.
    const child = spawn(chromium!, words, { stdio: ["ignore", "ignore", "pipe"], detached: true });
    const origin = await addressOf(child);
    const targets = (await (await fetch(`${origin}/json/list`)).json()) as {
      type: string;
      webSocketDebuggerUrl: string;
    }[];
    const socket = new WebSocket(targets.find(({ type }) => type === "page")!.webSocketDebuggerUrl);
    await once(socket, "open");
    const browser = new Browser(child, folder, socket);
    await Promise.all(["Page.enable", "Runtime.enable", "Log.enable"].map((name) => browser.call(name)));
    return browser;
  }

  /** Calls a method of the protocol. Source: https://chromedevtools.github.io/devtools-protocol */
  call<T>(method: string, params: object = {}): Promise<T> {
    const id = ++this.count;
    const answered = new Promise<unknown>((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    this.socket.send(JSON.stringify({ id, method, params }));
    return answered as Promise<T>;
  }

  /** Sets the window's size in CSS pixels, the theme, and whether less motion is asked for. */
  async emulate(width: number, theme: "light" | "dark", motion: "reduce" | "no-preference" = "no-preference") {
    const height = 900;
    await this.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    const features = [
      { name: "prefers-color-scheme", value: theme },
      { name: "prefers-reduced-motion", value: motion },
    ];
    await this.call("Emulation.setEmulatedMedia", { features });
  }

  /** Opens an address; settles when the page is there. */
  async open(url: string): Promise<void> {
    await this.call("Page.navigate", { url });
    await this.until(`document.readyState === "complete"`);
  }

  /** The value of an expression in the page. */
  async evaluate<T>(expression: string): Promise<T> {
    const params = { expression, returnByValue: true, awaitPromise: true };
    const { result, exceptionDetails } = await this.call<{ result: { value: T }; exceptionDetails?: { text: string } }>(
      "Runtime.evaluate",
      params,
    );
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.text} ${JSON.stringify(result)}`);
    return result.value;
  }

  /** Waits until an expression in the page is true. */
  async until(expression: string, limitMs = 45_000): Promise<void> {
    const endMs = performance.now() + limitMs;
    while (!(await this.evaluate<boolean>(`Boolean(${expression})`))) {
      if (performance.now() > endMs) throw new Error(`not within ${limitMs} ms: ${expression}`);
      await setTimeout(POLL_MS);
    }
  }

  /** Notes every value that an expression takes from now on, at each change of the document: what is there for a moment only, a
   *  busy machine would miss by asking. Returns an expression of the list. expression: has a value whatever the page shows. */
  async record(expression: string): Promise<string> {
    const list = `window.recorded[${quoted(expression)}]`;
    await this.evaluate(`{
      window.recorded ??= {};
      const list = ${list} = [];
      const note = () => {
        const value = ${expression};
        if (value !== list.at(-1)) list.push(value);
      };
      note();
      new MutationObserver(note).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    }`);
    return list;
  }

  /** Presses or lets go of a key. */
  async key(type: "keyDown" | "keyUp", code: string): Promise<void> {
    await this.call("Input.dispatchKeyEvent", { type, code, key: code === "Space" ? " " : code });
  }

  /** Presses a key and lets go of it, with what the browser itself does by it: lists move on, boxes are ticked. */
  async type(code: keyof typeof KEYS): Promise<void> {
    const [key, windowsVirtualKeyCode, text] = KEYS[code];
    for (const type of ["keyDown", "keyUp"] as const)
      await this.call("Input.dispatchKeyEvent", { type, code, key, windowsVirtualKeyCode, ...(text && { text }) });
  }

  /** Clicks into the middle of an element with the mouse. */
  async press(id: string): Promise<void> {
    const [x, y] = await this.evaluate<[number, number]>(`(() => {
      const element = document.getElementById(${quoted(id)});
      element.scrollIntoView({ block: "center" });
      const { left, top, width, height } = element.getBoundingClientRect();
      return [left + width / 2, top + height / 2];
    })()`);
    for (const type of ["mousePressed", "mouseReleased"] as const)
      await this.call("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
  }

  /** A picture of the whole page, PNG. */
  async screenshot(): Promise<Buffer> {
    const params = { format: "png", captureBeyondViewport: true };
    const { data } = await this.call<{ data: string }>("Page.captureScreenshot", params);
    return Buffer.from(data, "base64");
  }

  /** Ends the browser. */
  async close(): Promise<void> {
    this.socket.close();
    const ended = once(this.child, "exit");
    process.kill(-this.child.pid!, "SIGKILL");
    await ended;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  // biome-ignore lint/suspicious/noExplicitAny: messages of the protocol are of many shapes
  private take({ id, result, error, method, params }: any): void {
    if (method === "Runtime.consoleAPICalled") this.console.push(JSON.stringify(params.args));
    if (method === "Runtime.exceptionThrown") this.console.push(exceptionWords(params.exceptionDetails));
    if (method === "Log.entryAdded") this.console.push(params.entry.text);
    const call = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) call?.reject(new Error(error.message));
    else call?.resolve(result);
  }
}

/** What was thrown, with where: the protocol's own text is "Uncaught" for all. */
function exceptionWords({
  text,
  exception,
  url,
}: {
  text: string;
  exception?: { description?: string };
  url?: string;
}): string {
  return [text, exception?.description ?? url].filter(Boolean).join(" ");
}

/** The address at which a browser that just started can be driven. */
async function addressOf(child: ChildProcess): Promise<string> {
  let said = "";
  const found = new Promise<string>((resolve) => {
    child.stderr!.on("data", (piece: Buffer) => {
      said += piece;
      const port = /DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)\//.exec(said)?.[1];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    });
  });
  const ended = new AbortController();
  const late = setTimeout(START_MS, undefined, { signal: ended.signal }).then(() => {
    throw new Error(`no browser after ${START_MS} ms: ${said}`);
  });
  return Promise.race([found, late]).finally(() => ended.abort());
}
