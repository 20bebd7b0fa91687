import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ListEventsRequest, ListEventsResponseSchema, UsageEventSchema } from "@parley/rpc/quota";
import type { Database } from "@parley/service-kit";
import { listEvents, type UsageEvent } from "./events.store.ts";

const DEFAULT_PAGE_SIZE = 500;

export async function handleListEvents(
  database: Database,
  { after, pageSize }: ListEventsRequest,
): Promise<MessageInitShape<typeof ListEventsResponseSchema>> {
  const events = await listEvents(database, Number(after), pageSize || DEFAULT_PAGE_SIZE);
  return {
    events: events.map(toEventMessage),
    next: BigInt(events.at(-1)?.position ?? 0) || after,
  };
}

export function toEventMessage(event: UsageEvent): MessageInitShape<typeof UsageEventSchema> {
  const { position: _, occurredAt, ...fields } = event;
  return { ...fields, occurredAt: occurredAt.toISOString() };
}
