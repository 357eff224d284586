import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Browser } from "../../../../../tooling/testing/browser";

/** Something in the page is there within this time, also on a busy machine. */
export const LIMIT_MS = 90_000;

/** A rule of accessibility that is broken, and where. */
interface AxeViolation {
  id: string;
  nodes: { target: string[]; failureSummary: string }[];
}

const quoted = JSON.stringify;

/** The page of the studio in a browser, by what people see of it. */
export class StudioPage {
  private constructor(
    readonly browser: Browser,
    private readonly url: string,
  ) {}

  /** Opens the page in a browser of its own. */
  static async open(url: string): Promise<StudioPage> {
    const browser = await Browser.start();
    await browser.emulate(1280, "light");
    const page = new StudioPage(browser, url);
    await page.go("/");
    return page;
  }

  /** Goes to an address of the page, which is loaded anew. */
  async go(route: string): Promise<void> {
    // Another part after # alone loads nothing.
    await this.browser.open("about:blank");
    await this.browser.open(`${this.url}#${route}`);
    await this.until(`document.querySelector("main")?.childElementCount > 0`);
  }

  until(expression: string): Promise<void> {
    return this.browser.until(expression, LIMIT_MS);
  }

  /** The words of an element, undefined where there is none. */
  text(selector: string): Promise<string | undefined> {
    return this.browser.evaluate(`document.querySelector(${quoted(selector)})?.innerText`);
  }

  sees(words: string): Promise<void> {
    return this.until(`document.body.innerText.includes(${quoted(words)})`);
  }

  /** Presses the button, link or summary with these words or this name, when it is there. */
  async press(words: string): Promise<void> {
    const found = `[...document.querySelectorAll("button, a, summary")].find((each) => !each.disabled &&
      (each.innerText.trim() === ${quoted(words)} || each.getAttribute("aria-label") === ${quoted(words)}))`;
    await this.until(found);
    await this.browser.evaluate(`${found}.click()`);
  }

  /** Puts a value into the field with this label, as if it was typed. */
  async fill(label: string, value: string | number): Promise<void> {
    const field = `(${fieldByLabel})(${quoted(label)})`;
    await this.until(field);
    await this.browser.evaluate(`{
      const field = ${field};
      const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value");
      set.call(field, ${quoted(String(value))});
      field.dispatchEvent(new Event(field instanceof HTMLSelectElement ? "change" : "input", { bubbles: true }));
    }`);
  }

  value(label: string): Promise<string> {
    return this.browser.evaluate(`(${fieldByLabel})(${quoted(label)})?.value`);
  }

  /** Draws a picture in the page and drops it on it. */
  drop(width: number, height: number): Promise<void> {
    return this.transfer("drop", "DragEvent", "dataTransfer", width, height);
  }

  /** Draws a picture in the page and pastes it. */
  paste(width: number, height: number): Promise<void> {
    return this.transfer("paste", "ClipboardEvent", "clipboardData", width, height);
  }

  /** Drops a file that is no picture. */
  dropText(name: string): Promise<void> {
    return this.browser.evaluate(`{
      const data = new DataTransfer();
      data.items.add(new File(["no picture"], ${quoted(name)}, { type: "image/png" }));
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }`);
  }

  private transfer(name: string, type: string, field: string, width: number, height: number): Promise<void> {
    return this.browser.evaluate(`(async () => {
      const canvas = new OffscreenCanvas(${width}, ${height});
      const context = canvas.getContext("2d");
      const sky = context.createLinearGradient(0, 0, ${width}, ${height});
      sky.addColorStop(0, "#87b6e8");
      sky.addColorStop(1, "#f0c6a8");
      context.fillStyle = sky;
      context.fillRect(0, 0, ${width}, ${height});
      const data = new DataTransfer();
      data.items.add(new File([await canvas.convertToBlob()], "drawn.png", { type: "image/png" }));
      document.body.dispatchEvent(new ${type}(${quoted(name)}, { ${field}: data, bubbles: true, cancelable: true }));
    })()`);
  }

  /** Presses a key where the focus is. */
  async key(key: string, code = key): Promise<void> {
    for (const type of ["keyDown", "keyUp"]) await this.browser.call("Input.dispatchKeyEvent", { type, key, code });
  }

  /** Drags with the mouse from the middle of an element. */
  async drag(selector: string, byX: number, byY: number): Promise<void> {
    const from = await this.browser.evaluate<{ x: number; y: number }>(`(() => {
      const box = document.querySelector(${quoted(selector)}).getBoundingClientRect();
      return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
    })()`);
    const mouse = (type: string, x: number, y: number) =>
      this.browser.call("Input.dispatchMouseEvent", { type, x, y, button: "left", buttons: 1, clickCount: 1 });
    await mouse("mousePressed", from.x, from.y);
    await mouse("mouseMoved", from.x + byX / 2, from.y + byY / 2);
    await mouse("mouseMoved", from.x + byX, from.y + byY);
    await mouse("mouseReleased", from.x + byX, from.y + byY);
  }

  /** What axe-core has against the page as it is now, one line for each fault. */
  async faults(): Promise<string[]> {
    if (!(await this.browser.evaluate<boolean>(`"axe" in window`))) {
      const source = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
      await this.browser.evaluate(`${source}; 0`);
    }
    // Colours on their way from one theme to the other have no contrast that anybody chose.
    await this.browser.evaluate(
      `Promise.all(document.getAnimations().filter((each) => each instanceof CSSTransition).map(({ finished }) => finished.catch(() => {}))).then(() => 0)`,
    );
    const violations = await this.browser.evaluate<AxeViolation[]>(
      `axe.run(document, { iframes: false }).then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ target, failureSummary }) => ({ target, failureSummary })) })))`,
    );
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`),
    );
  }

  /** By how many pixels the page is wider than its window. */
  overflow(): Promise<number> {
    return this.browser.evaluate(`document.documentElement.scrollWidth - document.documentElement.clientWidth`);
  }
}

/** Finds a field by the words of its label or its name for screen readers. */
const fieldByLabel = `(words) => {
  const label = [...document.querySelectorAll("label")].find((each) => (each.firstChild?.textContent ?? "").trim() === words);
  return document.querySelector(\`[aria-label="\${words}"]\`) ?? (label?.htmlFor ? document.getElementById(label.htmlFor) : label?.querySelector("input"));
}`;
