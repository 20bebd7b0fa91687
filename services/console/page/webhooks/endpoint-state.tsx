import { WebhookAdminService, type WebhookEndpoint } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { webhooks } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useMayCall } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { formatDateTime } from "../components/dates.ts";
import { Facts } from "../components/facts.tsx";
import { Icon } from "../components/icon.tsx";
import { formatNumber } from "../i18n/numbers.ts";
import { t } from "../i18n/t.tsx";
import { describeProblem, describeTypes } from "./describe-webhook.ts";
import { refreshEndpoint } from "./webhook-queries.ts";

/** A webhook's settings, its queue, and why it gets no events. */
export function EndpointState({ endpoint }: { endpoint: WebhookEndpoint }) {
  const { url, includeContent, pending, dropped, previousSecretExpiresAt } = endpoint;
  const problem = describeProblem(endpoint);
  return (
    <>
      {problem !== undefined && <Problem endpoint={endpoint} problem={problem} />}
      <section className="panel" aria-label={t("Webhook")}>
        <Facts
          facts={[
            [t("Address"), url],
            [t("Events"), describeTypes(endpoint)],
            [t("With the texts of messages"), includeContent ? t("Yes") : t("No")],
            [t("Waiting events"), formatNumber(pending)],
            [t("Dropped, because too many waited"), dropped === 0n ? "" : formatNumber(dropped)],
            [
              t("The previous secret signs until"),
              previousSecretExpiresAt === "" ? "" : formatDateTime(previousSecretExpiresAt),
            ],
          ]}
        />
      </section>
    </>
  );
}

function Problem({ endpoint, problem }: { endpoint: WebhookEndpoint; problem: string }) {
  const { workspaceId, id, disabledReason } = endpoint;
  const mayUpdate = useMayCall(WebhookAdminService.method.updateEndpoint);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const enabling = useMutation({
    mutationFn: () => webhooks.updateEndpoint({ workspaceId, id, changes: { enabled: true } }),
    onSuccess: async () => {
      announce(t("The webhook was changed."));
      await refreshEndpoint(queryClient, { workspaceId, id });
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  return (
    <div className="notice error">
      <Icon name="alert" />
      <div>
        <p>{problem}</p>
        {mayUpdate && disabledReason !== "" && (
          <Button className="button small" isDisabled={enabling.isPending} onClick={() => enabling.mutate()}>
            {t("Enable")}
          </Button>
        )}
      </div>
    </div>
  );
}
