import { randomUUID } from "node:crypto";
import type { Database } from "@parley/service-kit";
import { DEFAULT_DISPLAY } from "../bots/bot-display.ts";
import type { Bot } from "../bots/bots.store.ts";
import { insertBot } from "../bots/bots.store.ts";
import { type Closing, closeTurn } from "../turns/close-turn.store.ts";
import { type NewTurn, openTurn } from "../turns/open-turn.store.ts";

let bots = 0;

/** A new bot in a workspace of its own, or in the given one. */
export async function createBot(database: Database, given: Partial<Omit<Bot, "createdAt">> = {}): Promise<Bot> {
  const number = ++bots;
  const bot = await insertBot(database, {
    id: randomUUID(),
    workspaceId: `ws_${number}`,
    slug: `bot-${number}`,
    model: "builtin:extractive",
    systemPrompt: "Answer briefly.",
    fallback: "I cannot talk about that.",
    display: DEFAULT_DISPLAY,
    ...given,
  });
  if (bot === undefined) throw new Error("the slug is taken");
  return bot;
}

/** A turn of a bot in a new session, not yet stored. */
export function newTurn(bot: Bot, given: Partial<NewTurn> = {}): NewTurn {
  return {
    workspaceId: bot.workspaceId,
    botId: bot.id,
    turnId: randomUUID(),
    sessionId: randomUUID(),
    edgeId: randomUUID(),
    source: "widget",
    visitorId: "",
    visitorMetadata: "",
    referrer: "",
    userAgent: "",
    message: "Hello?",
    model: bot.model,
    chunkIds: [],
    blocked: undefined,
    ...given,
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
  visitorMetadata: string;
};

/** What an edge sends to open a turn of a bot in a new session. */
export function openRequest(bot: Bot, given: Partial<OpenRequest> = {}): OpenRequest {
  const { workspaceId, botId, turnId, sessionId, edgeId, source, message, visitorId, visitorMetadata } = newTurn(bot);
  const request = { workspaceId, botId, turnId, sessionId, edgeId, source, message, visitorId, visitorMetadata };
  return { ...request, ...given };
}

/** How a turn could end. */
export function closing(turn: Pick<NewTurn, "workspaceId" | "turnId">, given: Partial<Closing> = {}): Closing {
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
    blockedReason: undefined,
    deadlineMicroseconds: undefined,
    ...given,
  };
}

/** Opens and closes a turn. Answers with the reply's message id. */
export async function runTurn(database: Database, turn: NewTurn, given: Partial<Closing> = {}): Promise<number> {
  const opened = await openTurn(database, turn);
  if (opened === undefined) throw new Error("the turn was not opened");
  await closeTurn(database, closing(turn, given));
  return opened.messageId;
}
