import { WebhookAdminService, type WebhookEndpoint } from "@parley/rpc/conversation";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { useMayCall } from "../api/session.ts";
import { SelectField } from "../components/field.tsx";
import { ShowMore } from "../components/show-more.tsx";
import { Failure, Loading } from "../components/states.tsx";
import { t } from "../i18n/t.tsx";
import { DeliveryRow } from "./delivery-row.tsx";
import { RedeliverRange } from "./redeliver-range.tsx";
import { deliveriesQuery } from "./webhook-queries.ts";

const STATUSES = [
  ["", t("All")],
  ["pending", t("Waiting")],
  ["delivered", t("Delivered")],
  ["failed", t("Failed")],
] as const;

/** The log of a webhook's events. */
export function Deliveries({ endpoint }: { endpoint: WebhookEndpoint }) {
  const mayRedeliver = useMayCall(WebhookAdminService.method.redeliver) && endpoint.disabledReason === "";
  const [status, setStatus] = useState("");
  const [isOpen, setOpen] = useState(false);
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(
    deliveriesQuery(endpoint, status),
  );
  const list = useRef<HTMLUListElement>(null);
  const deliveries = data?.pages.flatMap((page) => page.deliveries);
  return (
    <section className="panel" aria-labelledby="deliveries">
      <div className="panel-header">
        <h2 id="deliveries">{t("Log")}</h2>
        <div className="actions">
          {mayRedeliver && deliveries && deliveries.length > 0 && (
            <button type="button" className="button" onClick={() => setOpen(true)}>
              {t("Send a range again")}
            </button>
          )}
          <SelectField label={t("Status")} options={STATUSES} value={status} onChange={setStatus} />
        </div>
      </div>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!error && !data && <Loading />}
      {deliveries?.length === 0 && (
        <p className="muted">
          {status === "" ? t("No event has been sent yet.") : t("No event of the last 30 days has this status.")}
        </p>
      )}
      {deliveries && deliveries.length > 0 && (
        <ul ref={list} className="rows" aria-labelledby="deliveries">
          {deliveries.map((delivery) => (
            <DeliveryRow
              key={String(delivery.sequence)}
              endpoint={endpoint}
              delivery={delivery}
              mayRedeliver={mayRedeliver}
            />
          ))}
        </ul>
      )}
      {data && error && <Failure error={error} />}
      {hasNextPage && <ShowMore list={list} fetchNextPage={fetchNextPage} isFetching={isFetchingNextPage} />}
      {isOpen && (
        <RedeliverRange
          endpoint={endpoint}
          lastSequence={deliveries?.[0]?.sequence ?? 1n}
          onClose={() => setOpen(false)}
        />
      )}
    </section>
  );
}
