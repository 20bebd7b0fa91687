import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  ListVisitorMessagesRequest,
  ListVisitorMessagesResponseSchema,
  VisitorMessageSchema,
} from "@parley/rpc/conversation";
import { OUTCOMES } from "@parley/rpc/outcomes";
import type { Database } from "@parley/service-kit";
import { toAgent } from "../handoff/index.ts";
import { sessionNotFound } from "../sessions/index.ts";
import { toSourceMessages } from "../turns/index.ts";
import { listVisitorMessages, type VisitorMessage } from "./visitor-history.store.ts";

/** Reads a page of a verified visitor's session. Throws session_not_found unless the session belongs to the visitor. */
export async function handleListVisitorMessages(
  database: Database,
  request: ListVisitorMessagesRequest,
): Promise<MessageInitShape<typeof ListVisitorMessagesResponseSchema>> {
  const page = await listVisitorMessages(database, request, request);
  if (page === undefined) throw sessionNotFound();
  return { messages: page.messages.map(toMessage), nextBefore: BigInt(page.nextBefore) };
}

function toMessage({
  id,
  isReply,
  status,
  sources,
  agentName,
  model,
  ...message
}: VisitorMessage): MessageInitShape<typeof VisitorMessageSchema> {
  const hasOutcome = isReply && status !== "streaming";
  return {
    ...message,
    id: BigInt(id),
    isReply,
    sources: toSourceMessages(sources),
    ...(hasOutcome && { outcome: OUTCOMES[status].proto }),
    ...toAgent(agentName, model),
  };
}
