import { create, getOption } from "@bufbuild/protobuf";
import { admin_access, ChangeSchema } from "@parley/rpc/access";
import {
  BotChangesSchema,
  file_parley_conversation_v1_admin as conversation,
  PatternChangesSchema,
} from "@parley/rpc/conversation";
import { file_parley_quota_v1_admin as quota } from "@parley/rpc/quota";
import { expect, test } from "vitest";
import { describeChange } from "./describe-change.ts";

const recordedMethods = [...conversation.services, ...quota.services]
  .flatMap(({ methods }) => methods)
  .filter((method) => getOption(method, admin_access).changes)
  .map(({ parent, name }) => `${parent.name}/${name}`);

const NO_BOTS = new Map<string, string>();

test.each(recordedMethods)("for %s, describeChange returns an action other than the method's name", (method) => {
  const { action } = describeChange(create(ChangeSchema, { method }), NO_BOTS);
  expect(action).not.toBe(method.replace("/", " "));
});

test("names a key's bot, and the key by its name and the key itself", () => {
  const method = "KeyAdminService/UpdateKey";
  const target = { public_key: "svc_pk_a", bot_slug: "support", name: "Main site" };
  expect(describeChange(create(ChangeSchema, { method, target }), NO_BOTS)).toEqual({
    action: "Changed a key of",
    name: "support",
    details: ["Key “Main site”", "svc_pk_a"],
  });
});

test("gives the old and the new name of a renamed document", () => {
  const method = "KnowledgeAdminService/RenameSource";
  const target = { bot_slug: "support", name: "a.md", new_name: "b.md", id: "7" };
  expect(describeChange(create(ChangeSchema, { method, target }), NO_BOTS)).toEqual({
    action: "Renamed the document",
    name: "a.md",
    details: ["support", "Now b.md"],
  });
});

test("names the month of a usage correction", () => {
  const method = "WorkspaceAdminService/AdjustUsage";
  const change = create(ChangeSchema, { method, target: { month: "2026-11", amount: "5", operator: "Ada" } });
  expect(describeChange(change, NO_BOTS)).toEqual({ action: "Corrected the usage of", name: "2026-11", details: [] });
});

test("uses the bot's name and the screen's labels of the changed settings", () => {
  const change = create(ChangeSchema, {
    method: "BotAdminService/UpdateBot",
    target: { slug: "bakery", id: "bot_1" },
    changedFields: ["system_prompt", "primary_color", "quick_replies"],
  });
  expect(describeChange(change, new Map([["bakery", "Bakery guide"]]))).toEqual({
    action: "Changed the bot",
    name: "Bakery guide",
    details: ["Instructions, Colour, Suggested questions"],
  });
});

test.each([...BotChangesSchema.fields, ...PatternChangesSchema.fields].map(({ name }) => name))(
  "has a label for the changed field %s",
  (field) => {
    const change = create(ChangeSchema, { method: "BotAdminService/UpdateBot", changedFields: [field] });
    expect(describeChange(change, NO_BOTS).details).toEqual([expect.stringMatching(/^[A-Z]/)]);
  },
);

test("adds the conversation of a review and the bot of a document", () => {
  const review = { method: "SessionAdminService/ReviewMessage", target: { session_id: "s-1", message_id: "7" } };
  expect(describeChange(create(ChangeSchema, review), NO_BOTS)).toEqual({
    action: "Reviewed an answer",
    name: "",
    details: ["Conversation s-1"],
  });
  const document = { method: "KnowledgeAdminService/AddSource", target: { name: "menu.pdf", bot_slug: "bakery" } };
  expect(describeChange(create(ChangeSchema, document), new Map([["bakery", "Bakery guide"]]))).toEqual({
    action: "Added the document",
    name: "menu.pdf",
    details: ["Bakery guide"],
  });
});
