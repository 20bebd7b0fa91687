import type { WebhookDelivery, WebhookEndpoint } from "@parley/rpc/conversation";
import { formatDateTime } from "../components/dates.ts";
import { t } from "../i18n/t.tsx";
import { nameEventType } from "./event-types.ts";

/** Returns what the screens call a webhook: its URL without what is the same for most. */
export function nameWebhook({ url }: Pick<WebhookEndpoint, "url">): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname.replace(/\/$/, "")}`;
}

export function describeTypes({ types }: WebhookEndpoint): string {
  return types.length === 0 ? t("All events") : types.map(nameEventType).join(" · ");
}

/** Returns why a webhook gets no events, or that its server fails; undefined if it works. */
export function describeProblem({ disabledReason, failingSince }: WebhookEndpoint): string | undefined {
  switch (disabledReason) {
    case "":
      return failingSince === ""
        ? undefined
        : t(
            "Your server has not accepted an event since {time}. Parley repeats each event, and disables the webhook after 72 hours.",
            { time: formatDateTime(failingSince) },
          );
    case "gone":
      return t("Your server answered with status 410, so Parley has disabled the webhook.");
    case "failing":
      return t("Your server accepted no event for 72 hours, so Parley has disabled the webhook.");
    default:
      return t("The webhook is disabled. New events are not sent.");
  }
}

/** Returns what an event's last attempt resulted in; an empty text before the first one. */
export function describeResponse({ responseStatus, errorCode, attemptedAt }: WebhookDelivery): string {
  if (responseStatus > 0) return t("Your server answered with status {status}.", { status: String(responseStatus) });
  if (attemptedAt.length === 0) return "";
  return errorCode === "timeout"
    ? t("Your server did not answer within 10 seconds.")
    : t("Your server could not be reached.");
}

/** Returns what the owner can do about an attempt that failed. */
export function adviseOn({ responseStatus: status, errorCode }: WebhookDelivery): string {
  if (status === 0)
    return errorCode === "timeout"
      ? t("Let it answer before it does slow work.")
      : t("Check the address. It must be reachable from the internet, with a valid certificate.");
  if (status < 400) return t("Parley follows no redirects. Enter the address to which it redirects.");
  if (status === 401 || status === 403)
    return t("It refuses the signature or the sender. Check its secret, or replace the secret here.");
  if (status === 404 || status === 405) return t("Check the address. It must accept POST requests.");
  // The webhook's state has the reason why it is disabled.
  if (status === 410) return "";
  return t("Its response or its log has the reason. A status from 200 to 299 accepts an event.");
}
