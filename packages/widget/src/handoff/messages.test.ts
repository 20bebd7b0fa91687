import { describe, expect, it } from "vitest";
import type { Entry } from "../panel/session-store.ts";
import { addMessage, findHandoff, type LiveMessage, lastMessageId } from "./messages.ts";

const question = (id: string, text: string, fields: Partial<Entry> = {}): Entry => ({
  id,
  role: "user",
  text,
  ...fields,
});
const reply = (id: string, fields: Partial<Entry> = {}): Entry => ({
  id: `${id}:a`,
  role: "assistant",
  text: "A reply.",
  ...fields,
});
const ofPerson = (id: number, content = `Message ${id}`): LiveMessage => ({
  id: String(id),
  role: "assistant",
  content,
  created_at: "2026-12-01T10:00:00.000Z",
  agent: { name: "Anna" },
});
const ofVisitor = (id: number, content: string): LiveMessage => ({
  id: String(id),
  role: "user",
  content,
  created_at: "2026-12-01T10:00:00.000Z",
});
const textsOf = (entries: readonly Entry[]) => entries.map(({ text }) => text);

describe("addMessage", () => {
  it("adds a person's message with the name, once", () => {
    const entries = addMessage([question("q", "Help")], ofPerson(4));
    expect(entries.at(-1)).toEqual({
      id: "m4",
      role: "assistant",
      text: "Message 4",
      at: Date.parse("2026-12-01T10:00:00.000Z"),
      messageId: 4,
      agent: "Anna",
    });
    expect(addMessage(entries, ofPerson(4))).toBe(entries);
  });

  it("puts messages in the order of their ids, also before a message to the bot that was answered first", () => {
    const refused = question("p", "Refused", { failed: "refused" });
    const entries = [refused, question("q", "Back?"), reply("q", { messageId: 9 })];
    const added = addMessage(addMessage(entries, ofPerson(7)), ofPerson(5));
    expect(textsOf(added)).toEqual(["Refused", "Message 5", "Message 7", "Back?", "A reply."]);
  });

  it("recognizes the visitor's own message, and moves it behind the message that was stored before it", () => {
    const sent = [question("q", "Hello", { key: "k" })];
    const added = addMessage(addMessage(sent, ofPerson(4)), ofVisitor(5, "Hello"));
    expect(textsOf(added)).toEqual(["Message 4", "Hello"]);
    expect(added[1]).toMatchObject({ id: "q", key: "k", messageId: 5 });
  });

  it("adds the visitor's message from another device, also if the bot has replied to the same text before", () => {
    const added = addMessage([question("q", "Hello"), reply("q", { messageId: 2 })], ofVisitor(5, "Hello"));
    expect(textsOf(added)).toEqual(["Hello", "A reply.", "Hello"]);
    expect(added[2]?.id).toBe("m5");
  });

  it("keeps two of the visitor's messages with the same text apart", () => {
    const sent = [question("q1", "ok"), question("q2", "ok")];
    const added = [6, 7].reduce((entries, id) => addMessage(entries, ofVisitor(id, "ok")), sent as readonly Entry[]);
    expect(added.map(({ messageId }) => messageId)).toEqual([6, 7]);
  });
});

it("lastMessageId returns the last id of a message of or to a person", () => {
  expect(lastMessageId([])).toBe(0);
  expect(lastMessageId([question("q", "Hi"), reply("q", { messageId: 9 })])).toBe(0);
  const entries = addMessage(
    addMessage([question("q", "Hi"), reply("q", { messageId: 9 })], ofPerson(4)),
    ofPerson(11),
  );
  expect(lastMessageId(entries)).toBe(11);
});

describe("findHandoff", () => {
  it.each([
    ["no entry", [], undefined],
    ["a reply", [question("q", "Hi"), reply("q")], undefined],
    ["a message that is being sent", [question("q", "Hi", { key: "k" })], undefined],
    ["a message that failed", [question("q", "Hi", { failed: "refused" })], undefined],
    ["a message without a reply", [question("q", "Hi")], "q"],
    ["a marked reply", [question("q", "Hi"), reply("q", { handoff: true }), reply("r")], "q:a"],
  ] as const)("finds after %s the right entry", (_, entries, id) => {
    expect(findHandoff(entries)).toBe(id);
  });
});
