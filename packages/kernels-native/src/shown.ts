/** Returns a value of unknown kind as an error message shows it: short, and with control characters escaped. */
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) {
    const flat = value.length <= 8 && value.every((item) => typeof item !== "object");
    return flat ? `[${value.map(shown).join(", ")}]` : `a list of ${value.length}`;
  }
  if (typeof value === "object" && value !== null) return "an object";
  // JSON has no NaN and no infinity.
  return typeof value === "number" ? String(value) : shownJson(value);
}

/** Returns a value of a configuration as JSON, cut off where it is long; `nothing` for a key that is not there. */
export function shownJson(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = jsonOf(value) ?? typeof value;
  return text.length > 120 ? `${text.slice(0, 117)}…` : text;
}

/** JSON, or undefined for what it does not have: cycles, functions, integers of any length. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
