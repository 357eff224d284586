/// <reference lib="dom" />
import type { PageModel, PageRequest, PictureWords } from "../protocol/control";
import { element } from "./element";

/** What a change of the words is told to. */
export type WordsListener = (request: PageRequest & { type: "words" }) => void;

const PLACES = 2;

/** The words and numbers that a model of pictures makes frames by; hidden for games, which have none. */
export class Words {
  private readonly prompt = element<HTMLInputElement>("prompt");
  private readonly negative = element<HTMLInputElement>("negative");
  private readonly strength = element<HTMLInputElement>("strength");
  private readonly guidance = element<HTMLInputElement>("guidance");

  constructor(listener: WordsListener) {
    element<HTMLFormElement>("words").addEventListener("submit", (event) => {
      event.preventDefault();
      listener({ type: "words", prompt: this.prompt.value, negativePrompt: this.negative.value });
    });
    this.strength.addEventListener("change", () => listener({ type: "words", strength: this.strength.valueAsNumber }));
    this.guidance.addEventListener("change", () =>
      listener({ type: "words", guidanceScale: this.guidance.valueAsNumber }),
    );
    for (const slider of [this.strength, this.guidance]) slider.addEventListener("input", () => this.showNumbers());
  }

  /** Shows what a model takes: nothing, or words, and of guidance what its kind uses. */
  setModel({ words }: PageModel): void {
    element("words").hidden = words === undefined;
    element("negative-field").hidden = !words?.negative;
    element("guidance-field").hidden = !words?.guidance;
  }

  /** Shows what is in use. A field that somebody is writing in is left alone. */
  show(words: PictureWords | undefined): void {
    if (words === undefined) return;
    fill(this.prompt, words.prompt);
    fill(this.negative, words.negativePrompt);
    fill(this.strength, String(words.strength));
    fill(this.guidance, String(words.guidanceScale));
    this.showNumbers();
    element("in-use").textContent = words.prompt === "" ? "nothing in particular" : words.prompt;
  }

  private showNumbers(): void {
    for (const [slider, id] of [
      [this.strength, "strength-text"],
      [this.guidance, "guidance-text"],
    ] as const)
      element(id).textContent = slider.valueAsNumber.toFixed(PLACES);
  }
}

function fill(field: HTMLInputElement, value: string): void {
  if (document.activeElement !== field) field.value = value;
}
