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
  handoff: { state: "requested" },
});
const assigned = (id: string, agentId: string, excerpt: string): HandedOff => ({
  ...waiting(id),
  excerpt,
  handoff: { state: "assigned", agent: { id: agentId, name: agentId } },
});

const left = (id: string, created_at: string): HandedOff => ({
  ...waiting(id),
  handoff: { state: "bot" },
  contact: { email: "ada@example.com", excerpt: "Hello", created_at },
});

describe("findNews", () => {
  const news = (before: HandedOff[] | undefined, now: HandedOff[]) => findNews(before, now, "me").map(({ id }) => id);

  it.each([
    ["nothing of the first list", undefined, [waiting("a")], []],
    ["a visitor who waits now", [waiting("a")], [waiting("a"), waiting("b")], ["b"]],
    ["a new message to the agent", [assigned("a", "me", "Hi")], [assigned("a", "me", "There?")], ["a"]],
    ["no message to another agent", [assigned("a", "you", "Hi")], [assigned("a", "you", "There?")], []],
    ["no own answer", [assigned("a", "me", "Hi")], [{ ...assigned("a", "me", "Hi"), last_activity_at: "2" }], []],
    ["a new message for the team", [], [left("a", "1")], ["a"]],
    ["a second message for the team", [left("a", "1")], [left("a", "2")], ["a"]],
    ["no message for the team that was there", [left("a", "1")], [left("a", "1")], []],
    ["no conversation that the agent takes", [waiting("a")], [assigned("a", "me", "Hi")], []],
  ])("returns %s", (_, before, now, expected) => {
    expect(news(before, now)).toEqual(expected);
  });
});
