import type { WebhookDelivery } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { webhooks } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { formatDateTime } from "../components/dates.ts";
import { FactLine, Facts } from "../components/facts.tsx";
import { Icon, type IconName } from "../components/icon.tsx";
import { plural, t } from "../i18n/t.tsx";
import { adviseOn, describeResponse } from "./describe-webhook.ts";
import { nameEventType } from "./event-types.ts";
import { type EndpointRef, refreshEndpoint } from "./webhook-queries.ts";

const STATUS: Readonly<Record<string, { icon: IconName; text: string }>> = {
  pending: { icon: "clock", text: t("Waiting") },
  delivered: { icon: "check", text: t("Delivered") },
  failed: { icon: "alert", text: t("Failed") },
};

type DeliveryRowProps = { endpoint: EndpointRef; delivery: WebhookDelivery; mayRedeliver: boolean };

export function DeliveryRow({ endpoint: { workspaceId, id }, delivery, mayRedeliver }: DeliveryRowProps) {
  const { sequence, type, status, attemptedAt } = delivery;
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const redelivery = useMutation({
    mutationFn: () => webhooks.redeliver({ workspaceId, id, fromSequence: sequence, toSequence: sequence }),
    onSuccess: async ({ queued }) => {
      announce(describeQueued(queued));
      await refreshEndpoint(queryClient, { workspaceId, id });
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  const { icon, text } = STATUS[status] ?? { icon: "clock", text: status };
  const number = String(sequence);
  return (
    <li className="row key delivery">
      <span className={status === "failed" ? "row-icon error" : "row-icon"}>
        <Icon name={icon} />
      </span>
      <div className="row-text">
        <span className="row-title">
          <strong>{nameEventType(type)}</strong>
          <span className={status === "failed" ? "badge" : "badge neutral"}>{text}</span>
        </span>
        <small>
          <FactLine facts={[t("Number {number}", { number }), formatDateTime(delivery.occurredAt)]} />
        </small>
        {attemptedAt.length > 0 && (
          <details>
            <summary>{describeResponse(delivery)}</summary>
            <Attempts delivery={delivery} />
          </details>
        )}
      </div>
      {mayRedeliver && (
        <span className="row-actions">
          <Button
            className="button small"
            aria-label={`${t("Send again")}, ${t("Number {number}", { number })}`}
            isDisabled={redelivery.isPending || (status === "pending" && attemptedAt.length === 0)}
            onClick={() => redelivery.mutate()}
          >
            {t("Send again")}
          </Button>
        </span>
      )}
    </li>
  );
}

/** Returns what happens after events were queued again. */
export function describeQueued(count: number): string {
  return plural(count, "{count} event is sent again.", "{count} events are sent again.");
}

/** The times of an event's attempts, and what the last one got. */
function Attempts({ delivery }: { delivery: WebhookDelivery }) {
  const { eventId, status, attemptedAt, nextAttemptAt, responseBody } = delivery;
  const facts = [
    [t("Attempts"), attemptedAt.map(formatDateTime).join(" · ")],
    [t("Next attempt"), nextAttemptAt === "" ? "" : formatDateTime(nextAttemptAt)],
    ["webhook-id", eventId],
  ] as const;
  return (
    <>
      {status !== "delivered" && <p>{adviseOn(delivery)}</p>}
      <Facts facts={facts} />
      {responseBody !== "" && (
        <>
          <p className="hint">{t("The beginning of the response")}</p>
          <pre className="response" dir="auto">
            {responseBody}
          </pre>
        </>
      )}
    </>
  );
}
