import { isIP } from "node:net";
import { type EgressPolicy, invalidArgument } from "@parley/service-kit";

/**
 * Returns the URL in its normal form. Throws invalid_argument if it is not an http or https URL, if it has a user name, or if its address is private
 * and not in EGRESS_ALLOW. The addresses of a name are checked by each attempt.
 */
export function requireWebhookUrl(text: string, policy: EgressPolicy): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol))
    throw invalidArgument("url must begin with http:// or https://");
  if (url.username !== "" || url.password !== "") throw invalidArgument("url must not contain a user name or password");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !policy.permits(host))
    throw invalidArgument(
      "url must be a public address: only the operator can permit a private one, with EGRESS_ALLOW",
    );
  url.hash = "";
  return url.href;
}
