import { VdError } from "@vd/kernels-native";

/** One part of a script: an action, and for how many frames it is done. */
interface Part {
  action: string;
  frames: number;
}

/** Actions frame by frame, from a text such as `right:50,right+jump:10`, again and again. */
export class ActionScript {
  private readonly length: number;

  private constructor(private readonly parts: readonly Part[]) {
    this.length = parts.reduce((sum, { frames }) => sum + frames, 0);
  }

  /**
   * Reads a script. actions: those of the model.
   *
   * @throws VdError `attr` naming `--actions`
   */
  static read(text: string, actions: readonly string[]): ActionScript {
    const parts = text.split(",").map((word) => {
      const [, action, count = "1"] = /^([^:]+)(?::([1-9]\d{0,6}))?$/.exec(word.trim()) ?? [];
      if (action !== undefined && actions.includes(action)) return { action, frames: Number(count) };
      const expected = `ACTION or ACTION:FRAMES with commas between them, of ${actions.join(", ")}`;
      throw new VdError({ code: "attr", where: "--actions", expected, got: `"${word}"` });
    });
    return new ActionScript(parts);
  }

  /** The action of a frame, counted from 0. */
  at(frame: number): string {
    let rest = frame % this.length;
    for (const { action, frames } of this.parts) {
      if (rest < frames) return action;
      rest -= frames;
    }
    throw new RangeError(`no action at frame ${frame}`);
  }
}
