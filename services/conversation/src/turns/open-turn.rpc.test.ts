import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { OpenTurnRequestSchema } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { newOpenRequest } from "../testing/turns.ts";
import { handleOpenTurn, type OpenTurnDeps } from "./open-turn.rpc.ts";

test("throws too_many_keyed_turns if the session is below the limit after the first attempt, but at the limit after the second", async () => {
  // The handler reads the number of running turns with an idempotency key after each attempt to open the turn. The limit is 2.
  const runningCounts = [1, 2];
  const query = async ({ name }: { name?: string }) =>
    name === "find_keyed_turn" ? { rows: [{ runningCount: runningCounts.shift(), turnId: null }] } : { rows: [] };
  const knowledge = { chunks: 0, languages: [], hasEmbeddings: false };
  const messagePatterns = { list: [], json: "[]" };
  const deps = {
    database: { query },
    botConfigs: async () => ({
      model: "",
      fallback: "",
      fallbacks: {},
      consentText: "",
      knowledge,
      messagePatterns,
      answers: [],
    }),
    semanticSearch: { search: async () => ({ passages: [] }) },
    capReached: new Map(),
  } as unknown as OpenTurnDeps;
  const hashes = { keyHash: new Uint8Array(32).fill(1), requestHash: new Uint8Array(32).fill(2) };
  const bot = { workspaceId: "ws", id: randomUUID(), model: "" } as Bot;
  const request = create(OpenTurnRequestSchema, newOpenRequest(bot, hashes));
  await expect(handleOpenTurn(deps, request)).rejects.toMatchObject({ code: "too_many_keyed_turns" });
});
