/** Joins the names of classes that are there. */
export const classNames = (...names: readonly (string | false | undefined)[]): string =>
  names.filter((name) => name !== false && name !== undefined && name !== "").join(" ");
