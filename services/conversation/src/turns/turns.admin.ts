import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { TurnAdminService, TurnRecordSchema } from "@parley/rpc/conversation";
import {
  adminCallerOf,
  createPageTokens,
  cutPage,
  isUuid,
  isWorkspaceId,
  notFound,
  type Shard,
} from "@parley/service-kit";
import { type HandoffMessage, listHandoffMessages, toHandoffMessageRecord } from "../handoff/index.ts";
import { readPassages } from "../knowledge/index.ts";
import { findSession, type OwnerReadPool, sessionNotFound, toContactMessage } from "../sessions/index.ts";
import { compareWeeksOfWorkspaces, listUsageByBot, readStatistics } from "../statistics/index.ts";
import { toSourceMessages } from "./message-sources.ts";
import type { ReadTurnCosts } from "./turn-costs.service.ts";
import {
  findTurnRecord,
  findTurnRecordById,
  listTurnRecords,
  type SessionTurn,
  type TurnRecord,
} from "./turn-record.store.ts";

const DEFAULT_PAGE_SIZE = 30;
const MAX_HANDOFF_MESSAGES = 200;
const pageTokens = createPageTokens({
  messageId: (text) => /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)),
});

export function createTurnAdmin(
  { database, limiter }: Pick<OwnerReadPool, "database" | "limiter">,
  shards: readonly Shard[],
  readTurnCosts: ReadTurnCosts,
): ServiceImpl<typeof TurnAdminService> {
  return {
    getStatistics: (request, { signal }) =>
      limiter.run(request.workspaceId, signal, () => readStatistics(database, request)),
    listUsageByBot: (request, { signal }) =>
      limiter.run(request.workspaceId, signal, () => listUsageByBot(database, request)),
    compareWeeks: (request) => compareWeeksOfWorkspaces(shards, request),
    async getTurn({ workspaceId, messageId, turnId }, { signal }) {
      const isMessageId = messageId > 0n && messageId <= BigInt(Number.MAX_SAFE_INTEGER);
      const couldExist = isWorkspaceId(workspaceId) && (turnId === "" ? isMessageId : isUuid(turnId));
      const find = () =>
        turnId === ""
          ? findTurnRecord(database, workspaceId, Number(messageId))
          : findTurnRecordById(database, workspaceId, turnId);
      const found = couldExist ? await limiter.run(workspaceId, signal, find) : undefined;
      if (found !== undefined) return { turn: toProto(found) };
      throw turnId === ""
        ? notFound("message_not_found", "no such message")
        : notFound("turn_not_found", "no such turn");
    },
    async listTurns({ workspaceId, sessionId, pageSize, pageToken }, context) {
      const size = pageSize || DEFAULT_PAGE_SIZE;
      const afterMessageId = Number(pageTokens.parse(pageToken)?.messageId ?? 0);
      const couldExist = isWorkspaceId(workspaceId) && isUuid(sessionId);
      if (!couldExist) throw sessionNotFound();
      const { turns: listed, ...response } = await limiter.run(workspaceId, context.signal, async () => {
        const session = await findSession(database, workspaceId, sessionId);
        if (session === undefined) throw sessionNotFound();
        const found = await listTurnRecords(database, { workspaceId, sessionId }, { afterMessageId, limit: size + 1 });
        const handoff = { afterMessageId, limit: MAX_HANDOFF_MESSAGES + 1 };
        const foundMessages = await listHandoffMessages(database, { workspaceId, sessionId }, handoff);
        const { page, messages, last } = cutTurns(found, foundMessages, size);
        const chunkIds = new Set(page.flatMap(({ knowledge }) => knowledge.map(({ chunkId }) => chunkId)));
        const passages = await readPassages(database, workspaceId, [...chunkIds]);
        return {
          session: {
            ...session,
            startedAt: session.startedAt.toISOString(),
            lastActivityAt: session.lastActivityAt.toISOString(),
            consentedAt: session.consentedAt?.toISOString() ?? "",
            contactMessages: session.contactMessages.map(toContactMessage),
          },
          turns: page.map(({ message, reply, rating, ratingReason, review, sources, ...turn }) => ({
            ...{ message, reply, rating, ratingReason, review, turnId: turn.turnId },
            sources: toSourceMessages(sources),
            turn: toProto(turn),
          })),
          passages: passages.map(({ id, text }) => ({ chunkId: BigInt(id), text })),
          handoffMessages: messages.map(toHandoffMessageRecord),
          nextPageToken: pageTokens.format(last),
        };
      });
      const turnIds = listed.map(({ turnId }) => turnId);
      const costs = await readTurnCosts(workspaceId, adminCallerOf(context), turnIds);
      const turns = listed.map(({ turnId, ...each }) => {
        const { cost = "", tokensCached = 0 } = costs.get(turnId) ?? {};
        return { ...each, cost, tokensCached };
      });
      return { ...response, turns };
    },
  };
}

/**
 * Cuts a page from turns and messages of and to people, both ordered by id, so that every later turn and message has a higher id than `last`.
 * `last` is undefined if the page ends the list.
 */
function cutTurns(turns: readonly SessionTurn[], messages: readonly HandoffMessage[], size: number) {
  const lastTurn = cutPage(turns, size).last?.messageId;
  const lastMessage = cutPage(messages, MAX_HANDOFF_MESSAGES).last?.id;
  const end = Math.min(lastTurn ?? Number.POSITIVE_INFINITY, lastMessage ?? Number.POSITIVE_INFINITY);
  return {
    page: turns.filter(({ messageId }) => messageId <= end),
    messages: messages.filter(({ id }) => id <= end),
    last: Number.isFinite(end) ? { messageId: end } : undefined,
  };
}

function toProto(turn: TurnRecord): MessageInitShape<typeof TurnRecordSchema> {
  return {
    ...turn,
    messageId: BigInt(turn.messageId),
    phases: turn.phases.map(({ name, microseconds }) => ({ name, microseconds: BigInt(microseconds) })),
    openedAt: turn.openedAt.toISOString(),
    closedAt: turn.closedAt?.toISOString() ?? "",
    openMicroseconds: BigInt(turn.openMicroseconds),
    knowledge: turn.knowledge.map((passage) => ({ ...passage, chunkId: BigInt(passage.chunkId) })),
    tools: turn.tools.map(({ name = "", status = "", latency_ms: latencyMs = 0 }) => ({
      name,
      status,
      latencyMs: Math.round(latencyMs),
    })),
  };
}
