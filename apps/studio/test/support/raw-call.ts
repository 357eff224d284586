import { connect } from "node:net";

/** What came over a connection until it was closed. */
export interface RawAnswer {
  text: string;
  /** True if the server closed it, false if `waitMs` went by. */
  isClosed: boolean;
}

/** Sends bytes as they are to a server of this machine; `goOn` goes on with the connection. */
export function rawCall(
  port: number,
  text: string,
  { waitMs = 5000, goOn = (_write: (more: string) => boolean) => {} } = {},
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const socket = connect(port, "localhost", () => {
      socket.write(text);
      goOn((more) => !socket.destroyed && socket.write(more));
    });
    let heard = "";
    const end = (isClosed: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text: heard, isClosed });
    };
    const timer = setTimeout(() => end(false), waitMs);
    socket.on("data", (part) => {
      heard += part;
    });
    socket.on("error", () => {});
    socket.on("close", () => end(true));
  });
}

/** The first line of the answer to a call, as soon as it is there. */
export function firstLine(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "localhost", () => socket.write(text));
    socket.once("data", (part) => {
      socket.destroy();
      resolve(String(part).split("\r\n")[0]!);
    });
    socket.on("error", reject);
  });
}
