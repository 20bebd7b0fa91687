import { WebhookAdminService, type WebhookEndpoint } from "@parley/rpc/conversation";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMayCall, useSession } from "../api/session.ts";
import { FactLine } from "../components/facts.tsx";
import { Icon } from "../components/icon.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { plural, t } from "../i18n/t.tsx";
import { describeTypes, nameWebhook } from "../webhooks/describe-webhook.ts";
import { CreateWebhook } from "../webhooks/edit-webhook.tsx";
import { SecretDialog } from "../webhooks/secret-dialog.tsx";
import { StateBadge } from "../webhooks/state-badge.tsx";
import { endpointsQuery } from "../webhooks/webhook-queries.ts";
import "../webhooks/webhooks.css";

export function Webhooks() {
  const { workspace_id: workspaceId } = useSession();
  const { data: endpoints, error, refetch } = useQuery(endpointsQuery(workspaceId));
  const [isCreating, setCreating] = useState(false);
  /** The webhook that was just added. */
  const [created, setCreated] = useState({ id: "", secret: "" });
  const navigate = useNavigate();
  const mayCreate = useMayCall(WebhookAdminService.method.createEndpoint);
  const createButton = mayCreate && (
    <button type="button" className="button primary" onClick={() => setCreating(true)}>
      <Icon name="plus" />
      {t("New webhook")}
    </button>
  );
  return (
    <div className="screen">
      <PageHeader title={t("Webhooks")} actions={endpoints && endpoints.length > 0 && createButton}>
        {t("Your other systems, such as a help desk or a CRM, learn what happens as soon as it happens.")}
      </PageHeader>
      {error && !endpoints && <Failure error={error} onRetry={refetch} />}
      {!error && !endpoints && <Loading />}
      {endpoints?.length === 0 && (
        <Empty icon="link" title={t("No webhook yet")} action={createButton}>
          {mayCreate
            ? t("Add the address of a server that gets the events.")
            : t("An owner of the workspace can create one.")}
        </Empty>
      )}
      {endpoints && endpoints.length > 0 && (
        <ul className="rows panel flush" aria-label={t("Webhooks")}>
          {endpoints.map((endpoint) => (
            <EndpointRow key={endpoint.id} endpoint={endpoint} />
          ))}
        </ul>
      )}
      {isCreating && (
        <CreateWebhook onClose={() => setCreating(false)} onCreated={({ id }, secret) => setCreated({ id, secret })} />
      )}
      <SecretDialog
        secret={created.secret}
        onClose={() => {
          setCreated({ id: "", secret: "" });
          void navigate({ to: "/webhooks/$id", params: { id: created.id } });
        }}
      />
    </div>
  );
}

function EndpointRow({ endpoint }: { endpoint: WebhookEndpoint }) {
  const { id, includeContent, pending } = endpoint;
  return (
    <li>
      <Link to="/webhooks/$id" params={{ id }} className="row webhook">
        <span className="row-icon">
          <Icon name="link" />
        </span>
        <span className="row-text">
          <span className="row-title">
            <strong>{nameWebhook(endpoint)}</strong>
            <StateBadge endpoint={endpoint} />
          </span>
          <small>
            <FactLine
              facts={[
                describeTypes(endpoint),
                includeContent && t("With the texts of messages"),
                pending > 0 && plural(pending, "{count} event waits", "{count} events wait"),
              ]}
            />
          </small>
        </span>
        <Icon name="chevronRight" />
      </Link>
    </li>
  );
}
