import type { WebhookEndpoint } from "@parley/rpc/conversation";
import { t } from "../i18n/t.tsx";

export function StateBadge({ endpoint: { disabledReason, failingSince } }: { endpoint: WebhookEndpoint }) {
  if (disabledReason === "owner") return <span className="badge neutral">{t("Disabled")}</span>;
  if (disabledReason !== "") return <span className="badge">{t("Disabled")}</span>;
  if (failingSince !== "") return <span className="badge">{t("Failing")}</span>;
  return <span className="badge neutral">{t("Enabled")}</span>;
}
