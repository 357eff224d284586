import type { VideoEvents } from "../videos/events";

/** Writes a line for each try to deliver a webhook that failed. The address stays out of it: many have a secret in them. */
export function logWebhooks(events: VideoEvents, log: (text: string) => void): void {
  events.subscribe((event) => {
    if (event.type !== "webhook" || event.webhook.lastError === null) return;
    const { attempts, lastError, status } = event.webhook;
    const next = status === "failed" ? "given up" : "tried again later";
    log(`webhook of ${event.id}: try ${attempts} failed, ${next}: ${lastError}\n`);
  });
}
