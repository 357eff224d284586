/** Something that takes text: a terminal, a pipe, or a test's buffer. */
export interface TextOutput {
  write(text: string): unknown;
  /** True for a terminal, where a progress bar may move. */
  isTTY?: boolean | undefined;
}

/** How the command talks to the world: results on `stdout`, everything about the work on `stderr`. */
export interface Io {
  stdout: TextOutput;
  stderr: TextOutput;
  /** A clock in µs that never goes back. */
  nowUs(): number;
}
