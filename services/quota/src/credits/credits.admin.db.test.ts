import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { AddCreditRequestSchema, ListCreditsRequestSchema, RevokeCreditRequestSchema } from "@parley/rpc/quota";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase } from "../testing/quota-database.ts";
import { reserve } from "../usage/reservations.store.ts";
import { updateDeleted } from "../workspaces/workspaces.store.ts";
import { createCreditAdmin } from "./credits.admin.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

const context = {} as HandlerContext;
const admin = () => createCreditAdmin(quota.database);
const newCredit = (workspaceId: string, fields: object = {}) =>
  create(AddCreditRequestSchema, {
    ...{ workspaceId, messages: 5, reason: " bought ", operator: "ada", requestId: randomUUID() },
    ...fields,
  });
const list = async (workspaceId: string) =>
  (await admin().listCredits(create(ListCreditsRequestSchema, { workspaceId }), context)).credits;

test("adds a credit once for each request id, and refuses the id for another credit", async () => {
  const workspaceId = await createWorkspace(quota, 1);
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const request = newCredit(workspaceId, { expiresAt });
  const results = await Promise.all([1, 2, 3].map(() => admin().addCredit(request, context)));
  const credit = { id: request.requestId, messages: 5, used: 0, held: 0, left: 5, expiresAt, reason: "bought" };
  for (const result of results) expect(result).toMatchObject({ credit });
  for (const other of [{ messages: 6 }, { expiresAt: "" }, { reason: "gift" }, { operator: "bob" }])
    await expect(admin().addCredit(create(AddCreditRequestSchema, { ...request, ...other }), context)).rejects.toThrow(
      "another credit",
    );
  expect(await list(workspaceId)).toMatchObject([credit]);
  expect(await list("unknown")).toEqual([]);
});

test("refuses a credit that has expired, and a credit of an unknown or deleted workspace", async () => {
  const workspaceId = await createWorkspace(quota, 1);
  const expired = newCredit(workspaceId, { expiresAt: new Date(Date.now() - 1).toISOString() });
  await expect(admin().addCredit(expired, context)).rejects.toThrow("in the future");
  await updateDeleted(quota.database, workspaceId, true);
  for (const id of ["unknown", "a b", workspaceId])
    await expect(admin().addCredit(newCredit(id), context)).rejects.toMatchObject({ code: "workspace_not_found" });
});

test("a revoked credit keeps its held message, and revoking it again changes nothing", async () => {
  const workspaceId = await createWorkspace(quota, 1);
  const request = newCredit(workspaceId);
  await admin().addCredit(request, context);
  for (let n = 0; n < 2; n++) await reserve(quota.database, workspaceId, randomUUID());
  const revoke = (creditId: string, ofWorkspace = workspaceId) =>
    admin().revokeCredit(create(RevokeCreditRequestSchema, { workspaceId: ofWorkspace, creditId }), context);
  const { credit } = await revoke(request.requestId);
  expect(credit).toMatchObject({ held: 1, left: 0, revokedAt: expect.stringMatching(/Z$/) });
  expect(await revoke(request.requestId)).toEqual({ credit });
  await expect(revoke(randomUUID())).rejects.toMatchObject({ code: "credit_not_found" });
  await expect(revoke(request.requestId, await createWorkspace(quota, 1))).rejects.toMatchObject({
    code: "credit_not_found",
  });
});
