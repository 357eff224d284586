/** Something that takes text: a terminal, a pipe, or a test's buffer. */
export interface TextOutput {
  write(text: string): unknown;
  /** True for a terminal, where a progress bar may move. */
  isTTY?: boolean | undefined;
  /** Width of a terminal in characters. */
  columns?: number | undefined;
}

/** How the command talks to the world: results on `stdout`, everything about the work on `stderr`. */
export interface Io {
  stdout: TextOutput;
  stderr: TextOutput;
  /** Asks the person at the terminal a question that is answered by yes or no; undefined where nobody can answer. Rejects
   *  once the signal fires. */
  confirm?: ((question: string, signal: AbortSignal) => Promise<boolean>) | undefined;
  /** A clock in µs that never goes back. */
  nowUs(): number;
}
