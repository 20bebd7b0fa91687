import { setTimeout as sleep } from "node:timers/promises";
import type { CloseTurnResponse } from "@parley/rpc/conversation";
import { OUTCOMES } from "@parley/rpc/outcomes";
import { createLogger } from "@parley/service-kit";
import { expect, test } from "vitest";
import { createTurnCloser } from "./turn-closer.ts";

type Conversation = Parameters<typeof createTurnCloser>[0];

/** A closer whose CloseTurn takes 20 ms. Records the order of the calls, and the maximum number of concurrent calls with long replies. */
function startCloser() {
  const sent: string[] = [];
  let activeLong = 0;
  let maxActiveLong = 0;
  const closeTurn = async ({ turnId, content }: { turnId?: string; content?: string }) => {
    const isLong = (content ?? "").length > 64 * 1024;
    sent.push(turnId ?? "");
    if (isLong) maxActiveLong = Math.max(maxActiveLong, ++activeLong);
    await sleep(20);
    if (isLong) activeLong--;
    return {} as CloseTurnResponse;
  };
  const conversation = { closeTurn } as unknown as Conversation;
  const closer = createTurnCloser(conversation, createLogger("test", "silent"), () => undefined);
  const close = (turnId: string, outcome: "done" | "cancelled", characters: number) =>
    closer.close(
      { workspaceId: "w", turnId, outcome: OUTCOMES[outcome].proto, content: "x".repeat(characters) },
      undefined,
    );
  return { close, sent, maxActiveLong: () => maxActiveLong };
}

const LONG = 1024 * 1024;

test("sends at most three long replies concurrently when many streams end together", async () => {
  const { close, sent, maxActiveLong } = startCloser();
  const outcomes = ["done", "cancelled"] as const;
  await Promise.all(Array.from({ length: 20 }, (_, i) => close(`${i}`, outcomes[i % 2] ?? "done", LONG)));
  expect(sent).toHaveLength(20);
  expect(maxActiveLong()).toBeLessThanOrEqual(3);
});

test("neither a short reply nor a complete long reply waits for the long replies of visitors who left", async () => {
  const { close, sent } = startCloser();
  const left = Array.from({ length: 20 }, (_, i) => close(`left ${i}`, "cancelled", LONG));
  await Promise.all([close("short", "done", 100), close("complete", "done", LONG)]);
  expect(sent.filter((turnId) => turnId.startsWith("left")).length).toBeLessThan(5);
  await Promise.all(left);
});
