import { WebhookAdminService, type WebhookDelivery, type WebhookEndpoint } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { webhooks } from "../api/clients.ts";
import { useMayCall } from "../api/session.ts";
import { Button } from "../components/button.tsx";
import { formatDuration } from "../components/durations.ts";
import { Icon } from "../components/icon.tsx";
import { Failure } from "../components/states.tsx";
import { t } from "../i18n/t.tsx";
import { adviseOn, describeResponse } from "./describe-webhook.ts";
import { refreshEndpoint, waitForAttempt } from "./webhook-queries.ts";

/** Sends a test event, shows its result and, after a failure, sends it again. */
export function TestEvent({ endpoint: { workspaceId, id, disabledReason } }: { endpoint: WebhookEndpoint }) {
  const maySend = useMayCall(WebhookAdminService.method.sendTestEvent);
  const queryClient = useQueryClient();
  const test = useMutation({
    /** Sends a new test event, or `failed` again. */
    mutationFn: async (failed: WebhookDelivery | undefined) => {
      const sequence = failed?.sequence ?? (await webhooks.sendTestEvent({ workspaceId, id })).sequence;
      if (failed) await webhooks.redeliver({ workspaceId, id, fromSequence: sequence, toSequence: sequence });
      return waitForAttempt({ workspaceId, id }, sequence, failed?.attemptedAt.length ?? 0);
    },
    onSettled: () => refreshEndpoint(queryClient, { workspaceId, id }),
  });
  if (!maySend) return null;
  const { isPending, isSuccess, data: delivery, error } = test;
  return (
    <section className="panel" aria-labelledby="test-event">
      <div className="panel-header">
        <h2 id="test-event">{t("Test event")}</h2>
        <Button
          className="button primary"
          isDisabled={isPending || disabledReason !== ""}
          onClick={() => test.mutate(undefined)}
        >
          {t("Send a test event")}
        </Button>
      </div>
      <div className="test-result" role="status">
        {isPending && <p className="muted">{t("Sending…")}</p>}
        {isSuccess && delivery === undefined && (
          <p>{t("The event still waits, because other events are sent first. The log below has its result later.")}</p>
        )}
        {isSuccess && delivery && <TestResult delivery={delivery} onRepeat={() => test.mutate(delivery)} />}
      </div>
      {error && <Failure error={error} />}
    </section>
  );
}

function TestResult({ delivery, onRepeat }: { delivery: WebhookDelivery; onRepeat: () => void }) {
  const { status, responseStatus, responseBody, durationMs } = delivery;
  if (status === "delivered")
    return (
      <div className="notice">
        <Icon name="check" />
        <p>
          {t("It works. Your server answered with status {status} after {time}.", {
            status: String(responseStatus),
            time: formatDuration(durationMs),
          })}
        </p>
      </div>
    );
  return (
    <div className="notice error">
      <Icon name="alert" />
      <div>
        <p>
          <strong>{t("The test event was not accepted.")}</strong> {describeResponse(delivery)} {adviseOn(delivery)}
        </p>
        {responseBody !== "" && (
          <pre className="response" dir="auto">
            {responseBody}
          </pre>
        )}
        {responseStatus !== 410 && (
          <Button className="button small" onClick={onRepeat}>
            {t("Send again")}
          </Button>
        )}
      </div>
    </div>
  );
}
