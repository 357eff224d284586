import type { RealKind, SideKind } from "./kinds";
import type { CliForm } from "./option";
import { readRange, readSize } from "./read-text";

/** Makes the form that sets a width and a height with one text, `1024x576`, or has the picture decide: `auto`. */
export const sizeForm = (flags: string, kind: SideKind, doc: string, defaultText: string): CliForm => ({
  ...{ flags, doc, default: defaultText },
  pair: {
    pattern: "^[0-9]{1,7}[xX×][0-9]{1,7}$",
    words: { auto: { autoSize: true } },
    read: (text, where) => readSize(kind, text, where),
    write: (width, height) => `${width}x${height}`,
  },
});

/** Makes the form that sets the ends of a range with one text, `1:3`, or with one number for both. */
export const rangeForm = (flags: string, kind: RealKind, doc: string, defaultText: string): CliForm => ({
  ...{ flags, doc, default: defaultText },
  pair: {
    pattern: "^\\+?[0-9.]+([eE][+-]?[0-9]+)?(:\\+?[0-9.]+([eE][+-]?[0-9]+)?)?$",
    takesNumber: true,
    read: (text, where) => readRange(kind, text, where),
    write: (min, max) => `${min}:${max}`,
  },
});
