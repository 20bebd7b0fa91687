import { create, getOption, type MessageInitShape } from "@bufbuild/protobuf";
import { AuditLogEntrySchema, admin_access } from "@parley/rpc/access";
import {
  BotChangesSchema,
  file_parley_conversation_v1_admin as conversation,
  PatternChangesSchema,
} from "@parley/rpc/conversation";
import { file_parley_quota_v1_admin as quota } from "@parley/rpc/quota";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { describeEntry } from "./describe-entry.tsx";

const recordedMethods = [...conversation.services, ...quota.services]
  .flatMap(({ methods }) => methods)
  .filter((method) => getOption(method, admin_access).changes)
  .map(({ parent, name }) => `${parent.name}/${name}`);

const NO_BOTS = new Map<string, string>();

function describe(
  change: MessageInitShape<typeof AuditLogEntrySchema>,
  botNames: ReadonlyMap<string, string> = NO_BOTS,
) {
  const { action, details } = describeEntry(create(AuditLogEntrySchema, change), botNames);
  return { action: renderToStaticMarkup(action), details };
}

test.each(recordedMethods)("for %s, describeEntry returns an action other than the method's name", (method) => {
  expect(describe({ method }).action).not.toBe(method.replace("/", " "));
});

test("names a key's bot, and the key by its name and the key itself", () => {
  const method = "KeyAdminService/UpdateKey";
  const target = { public_key: "svc_pk_a", bot_slug: "support", name: "Main site" };
  expect(describe({ method, target })).toEqual({
    action: "Changed a key of <strong>support</strong>",
    details: ["Key “Main site”", "svc_pk_a"],
  });
});

test("gives the old and the new name of a renamed document", () => {
  const method = "KnowledgeAdminService/RenameSource";
  const target = { bot_slug: "support", name: "a.md", new_name: "b.md", id: "7" };
  expect(describe({ method, target })).toEqual({
    action: "Renamed the document <strong>a.md</strong>",
    details: ["support", "Now b.md"],
  });
});

test("names the month of a usage correction", () => {
  const target = { month: "2026-11", amount: "5", operator: "Ada" };
  expect(describe({ method: "WorkspaceAdminService/AdjustUsage", target })).toEqual({
    action: "Corrected the usage of <strong>2026-11</strong>",
    details: [],
  });
});

test.each([
  ["SetPlan", "Set the plan <strong>pro</strong>"],
  ["SetRetention", "Set how long conversations are kept: <strong>12 hours</strong>"],
])("after %s, names the new value, not the workspace", (method, action) => {
  const target = { id: "ws_1", name: "Bakery", plan: "pro", retention_minutes: "720" };
  expect(describe({ method: `WorkspaceAdminService/${method}`, target })).toEqual({ action, details: [] });
});

test("uses the bot's name and the screen's labels of the changed settings", () => {
  const change = {
    method: "BotAdminService/UpdateBot",
    target: { slug: "bakery", id: "bot_1" },
    changedFields: ["system_prompt", "primary_color", "quick_replies"],
  };
  expect(describe(change, new Map([["bakery", "Bakery guide"]]))).toEqual({
    action: "Changed the bot <strong>Bakery guide</strong>",
    details: ["Instructions, Colour, Suggested questions"],
  });
});

test.each([...BotChangesSchema.fields, ...PatternChangesSchema.fields].map(({ name }) => name))(
  "has a label for the changed field %s",
  (field) => {
    const change = { method: "BotAdminService/UpdateBot", changedFields: [field] };
    expect(describe(change).details).toEqual([expect.stringMatching(/^[A-Z]/)]);
  },
);

test.each([
  ["take", "Took a conversation", []],
  ["assign", "Assigned a conversation", ["To u-2"]],
  ["resolve", "Gave a conversation back to the bot", []],
  ["contact_done", "Marked a message for the team as answered", []],
])("says what the handoff's change %s was", (name, action, details) => {
  const target = { session_id: "s-1", action: name, agent_id: "u-2" };
  expect(describe({ method: "HandoffService/ChangeHandoff", target })).toEqual({
    action,
    details: ["Conversation s-1", ...details],
  });
});

test("adds the conversation of a review and the bot of a document", () => {
  const review = { method: "SessionAdminService/ReviewMessage", target: { session_id: "s-1", message_id: "7" } };
  expect(describe(review)).toEqual({
    action: "Reviewed an answer",
    details: ["Conversation s-1"],
  });
  const document = { method: "KnowledgeAdminService/AddSource", target: { name: "menu.pdf", bot_slug: "bakery" } };
  expect(describe(document, new Map([["bakery", "Bakery guide"]]))).toEqual({
    action: "Added the document <strong>menu.pdf</strong>",
    details: ["Bakery guide"],
  });
});
