import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useSession } from "../api/session.ts";
import { Breadcrumb } from "../components/breadcrumb.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { t } from "../i18n/t.tsx";
import { Deliveries } from "../webhooks/deliveries.tsx";
import { nameWebhook } from "../webhooks/describe-webhook.ts";
import { EndpointActions } from "../webhooks/endpoint-actions.tsx";
import { EndpointState } from "../webhooks/endpoint-state.tsx";
import { TestEvent } from "../webhooks/test-event.tsx";
import { endpointsQuery } from "../webhooks/webhook-queries.ts";
import "../webhooks/webhooks.css";

const route = getRouteApi("/shell/webhooks/$id");

/** A webhook: its state, a test, and the log of its events. */
export function Webhook() {
  const { id } = route.useParams();
  const { workspace_id: workspaceId } = useSession();
  const { data: endpoints, error, refetch } = useQuery(endpointsQuery(workspaceId));
  const endpoint = endpoints?.find((each) => each.id === id);
  const title = endpoint ? nameWebhook(endpoint) : t("Webhook");
  return (
    <div className="screen">
      <Breadcrumb title={title}>
        <Link to="/webhooks" activeOptions={{ exact: true }}>
          {t("Webhooks")}
        </Link>
      </Breadcrumb>
      <PageHeader title={title} actions={endpoint && <EndpointActions endpoint={endpoint} />} />
      {error && !endpoints && <Failure error={error} onRetry={refetch} />}
      {!error && !endpoints && <Loading />}
      {endpoints && !endpoint && (
        <Empty
          icon="link"
          title={t("Webhook")}
          action={
            <Link to="/webhooks" className="button">
              {t("All webhooks")}
            </Link>
          }
        >
          {t("This webhook no longer exists.")}
        </Empty>
      )}
      {endpoint && (
        <>
          <EndpointState endpoint={endpoint} />
          <TestEvent key={id} endpoint={endpoint} />
          <Deliveries key={`log ${id}`} endpoint={endpoint} />
        </>
      )}
    </div>
  );
}
