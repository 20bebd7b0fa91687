import { type DescMessage, type DescMethod, type DescService, getOption, hasOption } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { AdminRole, AdminScope, admin_access, mayCall } from "./access.ts";
import * as conversation from "./conversation.ts";
import * as llm from "./llm.ts";
import * as quota from "./quota.ts";

const services = [conversation, quota, llm].flatMap((module) =>
  Object.values(module as object).filter((each): each is DescService => each?.kind === "service"),
);
const methods = services
  .filter(({ name }) => name.endsWith("AdminService"))
  .flatMap((service) => service.methods)
  .map((method) => ({ name: `${method.parent.typeName}/${method.name}`, method }));

/** Returns the path of each field that could name a workspace, in a message and in its nested messages. */
function workspaceFields(message: DescMessage, path = "", seen: readonly DescMessage[] = []): string[] {
  if (seen.includes(message)) return [];
  return message.fields.flatMap((field) => [
    ...(/workspace|tenant/.test(field.name) ? [`${path}${field.name}`] : []),
    ...(field.message ? workspaceFields(field.message, `${path}${field.name}.`, [...seen, message]) : []),
  ]);
}

describe("an admin method declares who may call it", () => {
  test.each(methods)("$name", ({ method }) => {
    expect(hasOption(method, admin_access)).toBe(true);
    const { scope, role } = getOption(method, admin_access);
    if (scope === AdminScope.OPERATOR) expect(role).toBe(AdminRole.UNSPECIFIED);
    else {
      expect(scope).toBe(AdminScope.WORKSPACE);
      expect([AdminRole.VIEWER, AdminRole.OWNER]).toContain(role);
    }
  });
});

describe("the request of a method with workspace scope has workspace_id and no other workspace field", () => {
  const hasWorkspaceScope = (method: DescMethod) => getOption(method, admin_access).scope === AdminScope.WORKSPACE;
  test.each(methods.filter(({ method }) => hasWorkspaceScope(method)))("$name", ({ method }) => {
    expect(workspaceFields(method.input)).toEqual(["workspace_id"]);
    expect(method.input.field.workspaceId).toMatchObject({ fieldKind: "scalar", number: expect.any(Number) });
  });
});

describe("mayCall", () => {
  const { createBot, listBots } = conversation.BotAdminService.method;
  const { listSessions, exportSessions } = conversation.SessionAdminService.method;
  const { postMessage } = conversation.HandoffService.method;
  const { setPlan } = quota.WorkspaceAdminService.method;
  test.each([
    ["owner", [createBot, listBots, listSessions, exportSessions, postMessage]],
    ["viewer", [listBots, listSessions, exportSessions]],
    ["agent", [listSessions, postMessage]],
    [undefined, []],
  ] as const)("lets the role %s call only the methods whose admin_access permits that role", (role, permitted) => {
    const all = [createBot, listBots, listSessions, exportSessions, postMessage, setPlan];
    expect(all.filter((method) => mayCall(role, method))).toEqual(permitted);
  });
});

test("no method that viewers may call declares changes: true", () => {
  const changing = methods.filter(({ method }) => {
    const { role, changes } = getOption(method, admin_access);
    return role === AdminRole.VIEWER && changes;
  });
  expect(changing).toEqual([]);
});

test("agents may call the methods about conversations and canned replies, and no other one", () => {
  const permitted = services.flatMap((service) => service.methods).filter((method) => mayCall("agent", method));
  expect(permitted.map(({ parent, name }) => `${parent.name}/${name}`).sort()).toEqual([
    "CannedReplyAdminService/AddCannedReply",
    "CannedReplyAdminService/ListCannedReplies",
    "CannedReplyAdminService/RemoveCannedReply",
    "CannedReplyAdminService/UpdateCannedReply",
    "HandoffService/AddNote",
    "HandoffService/ChangeHandoff",
    "HandoffService/ListHandoffs",
    "HandoffService/ListNotes",
    "HandoffService/PostMessage",
    "SessionAdminService/GetTranscript",
    "SessionAdminService/ListSessions",
    "TurnAdminService/ListTurns",
  ]);
});
