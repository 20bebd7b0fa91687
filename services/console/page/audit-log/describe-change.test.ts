import { create, getOption } from "@bufbuild/protobuf";
import { admin_access, ChangeSchema } from "@parley/rpc/access";
import { file_parley_conversation_v1_admin as conversation } from "@parley/rpc/conversation";
import { file_parley_quota_v1_admin as quota } from "@parley/rpc/quota";
import { expect, test } from "vitest";
import { describeChange } from "./describe-change.ts";

const recordedMethods = [...conversation.services, ...quota.services]
  .flatMap(({ methods }) => methods)
  .filter((method) => getOption(method, admin_access).changes)
  .map(({ parent, name }) => `${parent.name}/${name}`);

test.each(recordedMethods)("for %s, describeChange returns an action other than the method's name", (method) => {
  const { action } = describeChange(create(ChangeSchema, { method }));
  expect(action).not.toBe(method.replace("/", " "));
});

test("names the month of a usage correction", () => {
  const method = "WorkspaceAdminService/AdjustUsage";
  const change = create(ChangeSchema, { method, target: { month: "2026-11", amount: "5", operator: "Ada" } });
  expect(describeChange(change)).toEqual({ action: "Corrected the usage of", name: "2026-11", details: [] });
});
