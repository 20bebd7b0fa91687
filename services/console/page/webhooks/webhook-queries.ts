import type { WebhookDelivery } from "@parley/rpc/conversation";
import { infiniteQueryOptions, type QueryClient, queryOptions } from "@tanstack/react-query";
import { webhooks } from "../api/clients.ts";

const PAGE_SIZE = 50;
/** An event waits up to a second for its attempt, which takes up to 10 s. */
const ATTEMPT_TIMEOUT_MS = 20_000;
const POLL_MS = 500;
/** While an attempt may run or is due soon, its result is read often. */
const SOON_MS = 60_000;
const SOON_INTERVAL_MS = 2_000;
const WAITING_INTERVAL_MS = 15_000;

export type EndpointRef = { workspaceId: string; id: string };

export const endpointsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ["webhooks", workspaceId],
    queryFn: async () => (await webhooks.listEndpoints({ workspaceId })).endpoints,
  });

/** The deliveries of an endpoint, latest first. `status` is empty for all. While some of them wait, reads them again. */
export const deliveriesQuery = ({ workspaceId, id }: EndpointRef, status: string) =>
  infiniteQueryOptions({
    queryKey: ["webhook-deliveries", workspaceId, id, status],
    queryFn: ({ pageParam }) =>
      webhooks.listDeliveries({ workspaceId, id, status, pageSize: PAGE_SIZE, pageToken: pageParam }),
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
    refetchInterval: ({ state: { data } }) => refetchMs(data?.pages.flatMap((page) => page.deliveries) ?? []),
  });

function refetchMs(deliveries: readonly WebhookDelivery[]): number | false {
  const waiting = deliveries.filter(({ status }) => status === "pending");
  if (waiting.length === 0) return false;
  const isSoon = waiting.some(({ nextAttemptAt }) => Date.parse(nextAttemptAt) < Date.now() + SOON_MS);
  return isSoon ? SOON_INTERVAL_MS : WAITING_INTERVAL_MS;
}

/** Reads an endpoint's state and deliveries again. */
export async function refreshEndpoint(queryClient: QueryClient, { workspaceId, id }: EndpointRef): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries(endpointsQuery(workspaceId)),
    queryClient.invalidateQueries({ queryKey: ["webhook-deliveries", workspaceId, id] }),
  ]);
}

/** Waits until an event of the first page has had more than `attempts` attempts. Returns undefined if it still waits after 20 s. */
export async function waitForAttempt(
  endpoint: EndpointRef,
  sequence: bigint,
  attempts: number,
): Promise<WebhookDelivery | undefined> {
  const deadline = performance.now() + ATTEMPT_TIMEOUT_MS;
  while (performance.now() < deadline) {
    await new Promise((done) => setTimeout(done, POLL_MS));
    const { deliveries } = await webhooks.listDeliveries(endpoint);
    const delivery = deliveries.find((each) => each.sequence === sequence);
    if (delivery !== undefined && delivery.attemptedAt.length > attempts) return delivery;
  }
  return undefined;
}
