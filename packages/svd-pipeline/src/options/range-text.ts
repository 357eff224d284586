import { PUBLISHED_FACTOR, type WrittenKind } from "./kinds";

/** Says in words which values a kind takes: `whole number, 1 to 4096`. */
export function rangeText(kind: WrittenKind): string {
  switch (kind.kind) {
    case "integer":
      return `whole number, ${kind.min} to ${kind.max}`;
    case "real":
      return `number, ${kind.min} to ${kind.max}`;
    case "side":
      return `multiple of ${PUBLISHED_FACTOR}, ${PUBLISHED_FACTOR} to ${kind.max}`;
    case "seed":
      return "whole number, 0 to 2^64 − 1";
    case "choice":
      return `one of ${kind.values.join(", ")}`;
    case "boolean":
      return "true or false";
    case "text":
      return "text";
    case "booleanOrText":
      return "true, false or text";
    case "numbers":
      return "list of numbers";
    case "devices":
      return "list of devices";
  }
}
