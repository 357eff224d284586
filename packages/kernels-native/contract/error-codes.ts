/** Every kind of failure the packages report, with what it means to a user. The C++ side uses the same names. */
export const ERROR_CODES = {
  shape: "A tensor has dimensions that the operation or the model cannot take.",
  dtype: "A tensor has an element type that is not accepted here.",
  layout: "A tensor's pitch, alignment or view is not one the operation can address.",
  attr: "An option or attribute is missing, of the wrong type or out of range.",
  weights: "A checkpoint or its configuration is damaged, incomplete or does not fit the model.",
  memory: "An allocation failed or would exceed the limit.",
  unsupported: "The device or this build cannot do what was asked.",
  driver: "The GPU driver reported an error.",
  io: "A file or network operation failed.",
  cancelled: "The caller cancelled the work through its AbortSignal.",
  internal: "A defect in this software; please report it.",
} as const;

/** One of the keys of {@link ERROR_CODES}. */
export type ErrorCode = keyof typeof ERROR_CODES;
