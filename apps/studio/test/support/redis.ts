import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { Redis } from "ioredis";

/** True where redis-server is installed. */
export const HAS_REDIS = spawnSync("redis-server", ["--version"]).status === 0;

/** A port that nobody has now. */
export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

/** Starts a Redis that keeps nothing on disk; by default at a port that is free. */
export async function startRedis(at?: number): Promise<{ url: string; stop(): void }> {
  const port = at ?? (await freePort());
  const words = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  const child: ChildProcess = spawn("redis-server", words, { stdio: "ignore" });
  const url = `redis://127.0.0.1:${port}`;
  const client = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: null });
  client.on("error", () => {});
  await client.ping();
  client.disconnect();
  return { url, stop: () => void child.kill("SIGKILL") };
}
