import { Problem } from "../http/problem";
import { FetchError, type FetchRules, requirePublic } from "../inputs/safe-fetch";
import type { Fields } from "../inputs/settings";
import type { WebhookState } from "../videos/record";

/** Of the address, in characters. */
const MAX_URL = 2048;

/**
 * Returns who a request wants to be told of its video's end; null for nobody. An address that would never be called is refused now, and
 * not when nobody listens any more.
 *
 * @throws Problem
 */
export async function askedWebhook({ webhook }: Fields, rules: FetchRules): Promise<WebhookState | null> {
  if (webhook === undefined || webhook === null) return null;
  const { url } = Object(webhook) as { url?: unknown };
  if (typeof url !== "string" || url.length > MAX_URL || !URL.canParse(url) || !/^https?:/i.test(url))
    throw new Problem(
      400,
      "attr",
      `Expected webhook to be { "url": "https://…" } of at most ${MAX_URL} characters.`,
      "webhook",
    );
  try {
    await requirePublic(url, rules);
  } catch (error) {
    if (error instanceof FetchError) throw new Problem(422, "webhook_not_callable", error.message, "webhook");
    throw error;
  }
  return { url, status: "pending", attempts: 0, lastError: null };
}
