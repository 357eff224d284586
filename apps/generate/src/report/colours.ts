import { styleText } from "node:util";
import type { TextOutput } from "../io";

/** What a piece of text is, for the eye. */
export type Style = "heading" | "dim" | "good" | "warning" | "error";

/** Colours a text, or leaves it as it is where no colours are wanted. */
export type Paint = (style: Style, text: string) => string;

/** The variables that decide colours; apps alone read them. */
export interface ColourVariables {
  NO_COLOR?: string | undefined;
  FORCE_COLOR?: string | undefined;
  TERM?: string | undefined;
}

const FORMATS = {
  heading: "bold",
  dim: "dim",
  good: "green",
  warning: "yellow",
  error: "red",
} as const satisfies Record<Style, Parameters<typeof styleText>[0]>;

/** Text of the command itself: no colours, as where nobody looks. */
export const plainPaint: Paint = (_, text) => text;

/**
 * Returns what colours texts for a stream: FORCE_COLOR decides if it is set (0 and false mean no), then NO_COLOR; otherwise
 * terminals get colours unless TERM is dumb. Source: https://no-color.org, https://force-color.org.
 */
export function paintFor({ isTTY }: TextOutput, variables: ColourVariables): Paint {
  return wantsColours(isTTY ?? false, variables)
    ? (style, text) => styleText(FORMATS[style], text, { validateStream: false })
    : plainPaint;
}

function wantsColours(isTerminal: boolean, { NO_COLOR, FORCE_COLOR, TERM }: ColourVariables): boolean {
  if (FORCE_COLOR !== undefined) return !["0", "false"].includes(FORCE_COLOR);
  if (NO_COLOR) return false;
  return isTerminal && TERM !== "dumb";
}
