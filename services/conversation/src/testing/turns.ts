import { randomUUID } from "node:crypto";
import { TurnOutcome } from "@parley/rpc/conversation";
import type { Database } from "@parley/service-kit";
import { DEFAULT_DISPLAY, readSettings } from "../bots/bot-settings.ts";
import type { Bot } from "../bots/bots.store.ts";
import { insertBot } from "../bots/bots.store.ts";
import { type Closing, closeTurn } from "../turns/close-turn.store.ts";
import { type NewTurn, openTurn } from "../turns/open-turn.store.ts";

let botCount = 0;

/** Creates a bot, by default in a workspace of its own. */
export async function createBot(database: Database, fields: Partial<Omit<Bot, "createdAt">> = {}): Promise<Bot> {
  const number = ++botCount;
  const created = {
    id: randomUUID(),
    workspaceId: `ws_${number}`,
    slug: `bot-${number}`,
    ...readSettings({
      model: "builtin:extractive",
      systemPrompt: "Answer briefly.",
      fallback: "I cannot talk about that.",
    }),
    display: DEFAULT_DISPLAY,
    ...fields,
  };
  const bot = await insertBot(database, created, { limit: 1_000 });
  if (typeof bot === "string") throw new Error(`bot not created: ${bot}`);
  return bot;
}

/** Returns a turn in a new session, not yet stored. */
export function newTurn(bot: Bot, fields: Partial<NewTurn> = {}): NewTurn {
  return {
    workspaceId: bot.workspaceId,
    botId: bot.id,
    turnId: randomUUID(),
    sessionId: randomUUID(),
    edgeId: randomUUID(),
    source: "widget",
    visitorId: "",
    visitorVerified: false,
    visitorMetadata: "",
    referrer: "",
    userAgent: "",
    message: "Hello?",
    model: bot.model,
    chunkIds: [],
    isGrounded: (fields.chunkIds ?? []).length > 0,
    blocked: undefined,
    keyHash: undefined,
    requestHash: undefined,
    consentVersion: undefined,
    ...fields,
  };
}

export type OpenRequest = {
  workspaceId: string;
  botId: string;
  turnId: string;
  sessionId: string;
  edgeId: string;
  source: string;
  message: string;
  visitorId: string;
  visitorVerified: boolean;
  visitorMetadata: string;
  keyHash?: Uint8Array;
  requestHash?: Uint8Array;
  consentVersion?: string;
  acceptLanguage?: string;
};

/** Returns an OpenTurn request for a new session. */
export function newOpenRequest(bot: Bot, fields: Partial<OpenRequest> = {}): OpenRequest {
  const { workspaceId, botId, turnId, sessionId, edgeId, source, message, ...turn } = newTurn(bot);
  const { visitorId, visitorVerified, visitorMetadata } = turn;
  const visitor = { visitorId, visitorVerified, visitorMetadata };
  return { workspaceId, botId, turnId, sessionId, edgeId, source, message, ...visitor, ...fields };
}

/** Returns the data for closing a turn, by default as done. */
export function newClosing(turn: Pick<NewTurn, "workspaceId" | "turnId">, fields: Partial<Closing> = {}): Closing {
  return {
    workspaceId: turn.workspaceId,
    turnId: turn.turnId,
    outcome: "done",
    content: "Hi.",
    model: "builtin:extractive",
    tokensIn: 12,
    tokensOut: 3,
    latencyMs: 456,
    firstTokenMs: 123,
    errorCode: "",
    month: "2026-11",
    phases: [{ name: "open", microseconds: 1_500 }],
    toolsCalled: [],
    chunksCited: [],
    sources: [],
    blockedReason: undefined,
    deadlineMicroseconds: undefined,
    quota: undefined,
    reconnects: 0,
    finishDetail: "",
    unpaidDay: undefined,
    ...fields,
  };
}

/** Opens and closes a turn. Returns the reply's message id. */
export async function runTurn(database: Database, turn: NewTurn, fields: Partial<Closing> = {}): Promise<number> {
  const opened = await openTurn(database, turn);
  if (opened === undefined) throw new Error("the turn was not opened");
  await closeTurn(database, newClosing(turn, fields));
  return opened.messageId;
}

export function newCloseRequest(
  { workspaceId, turnId }: Pick<NewTurn, "workspaceId" | "turnId">,
  outcome = TurnOutcome.DONE,
  month = "2026-11",
) {
  return { workspaceId, turnId, outcome, month, content: "Hi!", tokensIn: 5, tokensOut: 2, latencyMs: 9 };
}

/** Returns the fields that name a bot in admin requests. */
export const botFields = (bot: Bot) => ({ workspaceId: bot.workspaceId, botSlug: bot.slug });

/** Returns the fields of an edge in a RenewEdge request. */
export const edgeFields = (edgeId: string) => ({ edgeId, address: "10.0.0.1:8088", token: `token of ${edgeId}` });
