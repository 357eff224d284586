import type { Socket } from "node:net";
import { Problem } from "./problem";

/** What Node.js calls it when a client breaks the rules of HTTP, and what it is told. */
const PROBLEMS: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: new Problem(431, "headers_too_large", "The headers of this call are too large."),
  ERR_HTTP_REQUEST_TIMEOUT: new Problem(408, "too_slow", "The call took too long to arrive."),
};
const NO_HTTP = new Problem(400, "bad_request", "This is no HTTP.");

/** Answers a call that no route ever sees, and ends its connection. */
export function answerBrokenCall({ code }: NodeJS.ErrnoException, socket: Socket): void {
  if (code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const problem = PROBLEMS[code ?? ""] ?? NO_HTTP;
  const body = problem.body();
  const text = JSON.stringify(body);
  const headers = [
    `HTTP/1.1 ${problem.status} ${body.title}`,
    "content-type: application/problem+json",
    `content-length: ${Buffer.byteLength(text)}`,
    "connection: close",
  ];
  socket.end(`${headers.join("\r\n")}\r\n\r\n${text}`, () => socket.destroy());
}
