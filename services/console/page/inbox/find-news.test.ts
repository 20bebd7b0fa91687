import { describe, expect, it } from "vitest";
import { findNews } from "./find-news.ts";
import type { HandedOff } from "./handoffs-store.ts";

const waiting = (id: string): HandedOff => ({
  id,
  bot_slug: "bot",
  visitor_id: "",
  last_activity_at: "",
  excerpt: "Hello",
  notes: 0,
  since: "",
  handoff: { state: "requested", reason: "visitor" },
});
const assigned = (id: string, agentId: string, excerpt: string, reason = "taken"): HandedOff => ({
  ...waiting(id),
  excerpt,
  handoff: { state: "assigned", reason, agent: { id: agentId, name: agentId } },
});

const left = (id: string, created_at: string): HandedOff => ({
  ...waiting(id),
  handoff: { state: "bot", reason: "" },
  contact: { email: "ada@example.com", excerpt: "Hello", created_at },
});

describe("findNews", () => {
  const news = (before: HandedOff[] | undefined, now: HandedOff[]) =>
    findNews(before, now, "me").map(({ kind, conversation }) => `${kind} ${conversation.id}`);

  it.each([
    ["nothing of the first list", undefined, [waiting("a")], []],
    ["a visitor who waits now", [waiting("a")], [waiting("a"), waiting("b")], ["waiting b"]],
    ["a new message to the agent", [assigned("a", "me", "Hi")], [assigned("a", "me", "There?")], ["written a"]],
    ["no message to another agent", [assigned("a", "you", "Hi")], [assigned("a", "you", "There?")], []],
    ["no own answer", [assigned("a", "me", "Hi")], [{ ...assigned("a", "me", "Hi"), last_activity_at: "2" }], []],
    ["a new message for the team", [], [left("a", "1")], ["left a"]],
    ["a second message for the team", [left("a", "1")], [left("a", "2")], ["left a"]],
    ["no message for the team that was there", [left("a", "1")], [left("a", "1")], []],
    [
      "a conversation that was handed on",
      [assigned("a", "you", "Hi")],
      [assigned("a", "me", "Hi", "assigned")],
      ["handed a"],
    ],
    [
      "a handed conversation once",
      [assigned("a", "me", "Hi", "assigned")],
      [assigned("a", "me", "Hi", "assigned")],
      [],
    ],
    ["no conversation that another agent gets", [waiting("a")], [assigned("a", "you", "Hi", "assigned")], []],
    ["no conversation that the agent takes", [waiting("a")], [assigned("a", "me", "Hi")], []],
  ])("returns %s", (_, before, now, expected) => {
    expect(news(before, now)).toEqual(expected);
  });
});
