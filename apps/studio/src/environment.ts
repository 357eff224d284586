import { homedir } from "node:os";
import { join } from "node:path";

/** The data folder that is used when none is named: `$XDG_DATA_HOME/vd-studio`, else `~/.local/share/vd-studio`. */
export function usualFolder(): string {
  return join(process.env.XDG_DATA_HOME ?? join(homedir(), ".local", "share"), "vd-studio");
}

/** Who may use a bucket, by the names that all tools of S3 read; keys are undefined where they are not set. */
export function s3Variables() {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION } = process.env;
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    sessionToken: AWS_SESSION_TOKEN,
    region: AWS_REGION ?? "us-east-1",
  };
}

/** The environment of a worker process: that of this one, and what differs. */
export const workerEnvironment = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  ...more,
});
