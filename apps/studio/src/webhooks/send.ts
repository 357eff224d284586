import { FetchError, type FetchRules, safePost } from "../inputs/safe-fetch";
import type { KeyStore } from "../keys/key-store";
import type { WebhookState } from "../videos/record";
import { type Delivery, signedHeaders } from "./webhook";

/** What messages are sent with. */
export interface SendContext {
  keys: KeyStore;
  rules: FetchRules;
}

/** Sends a message once. isLast: no further try would follow. Returns how far it has come; never rejects because of the receiver. */
export async function sendOnce(
  delivery: Delivery,
  isLast: boolean,
  { keys, rules }: SendContext,
): Promise<WebhookState> {
  const { url } = delivery;
  const attempts = delivery.attempts + 1;
  const key = await keys.byId(delivery.owner);
  if (!key) return { url, status: "failed", attempts, lastError: "The key of this video was removed." };
  const lastError = await faultOf(delivery, key.webhookSecret, rules);
  if (lastError === null) return { url, status: "delivered", attempts, lastError };
  return { url, status: isLast ? "failed" : "retrying", attempts, lastError };
}

/** Posts a message; returns why it was not taken, null where it was. */
async function faultOf(delivery: Delivery, secret: string, rules: FetchRules): Promise<string | null> {
  try {
    const status = await safePost(delivery.url, delivery.body, signedHeaders(delivery, secret), rules);
    return status >= 200 && status < 300 ? null : `The server answered ${status}.`;
  } catch (error) {
    return error instanceof FetchError ? error.message : "The server cannot be reached.";
  }
}
