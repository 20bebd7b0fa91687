import { afterAll, beforeAll, expect, test } from "vitest";
import { type System, startSystem } from "../system/system.ts";
import { createOwner } from "./owner.ts";

let system: System;
beforeAll(async () => {
  system = await startSystem({ edges: 0 });
});
afterAll(() => system?.stop());

test("the audit log lists a new document whose name has control characters or is cut within a surrogate pair", async () => {
  const { botSlug, knowledge, auditLog } = await createOwner(system);
  const content = Buffer.from("words");
  const names = [
    `${"x".repeat(199)}👋`,
    `${"👋".repeat(100)}`,
    `x${"👋".repeat(150)}`,
    "a\nb",
    "\u202eb",
    "\u001b[31m",
  ];
  for (const name of names) await knowledge.addSource({ botSlug, name, format: "txt", content });
  const listed = (await auditLog.listAuditLogEntries({ pageSize: names.length })).entries;
  const stored = names.map((name) => name.slice(0, 200).toWellFormed());
  expect(listed.map(({ target }) => target.name)).toEqual(stored.toReversed());
});
