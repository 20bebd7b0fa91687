import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  PutToolRequestSchema,
  QuickRepliesSchema,
  UpdateBotRequestSchema,
  UploadLogoRequestSchema,
} from "./conversation.ts";
import { FillCallLogRequestSchema } from "./llm.ts";
import {
  AdjustTurnsRequestSchema,
  AdjustUsageRequestSchema,
  CloseMonthRequestSchema,
  CorrectUnpaidRequestSchema,
  CreateWorkspaceRequestSchema,
  GetReservationsRequestSchema,
  ListReservationsRequestSchema,
  ListUsageRequestSchema,
  ReservationState,
  ReserveRequestSchema,
  SetKnowledgeLimitsRequestSchema,
  SetRetentionRequestSchema,
  SettleOutcome,
  SettleRequestSchema,
} from "./quota.ts";
import { entryLimitsOf, findInvalidField, limitsOf } from "./rules.ts";

const TURN_ID = "0b7d5a3e-6f0c-4a53-9f0e-1d2c3b4a5f60";
const SETTLEMENT = { workspaceId: "ws", turnId: TURN_ID, outcome: SettleOutcome.DONE };

function messageFor<S extends DescMessage>(schema: S, init: MessageInitShape<S>): string | undefined {
  return findInvalidField(schema, create<S>(schema, init))?.message;
}

test.each([
  ["200 characters", "a".repeat(200), undefined],
  ["white space around 200 characters", ` ${"a".repeat(200)} `, undefined],
  ["200 code points of two units", "😀".repeat(200), undefined],
  ["201 characters", "a".repeat(201), "name must have 1 to 200 characters, not only white space, and no NUL"],
  ["only white space", " \u00a0", "name must have 1 to 200 characters, not only white space, and no NUL"],
  ["NUL", "a\0b", "name must have 1 to 200 characters, not only white space, and no NUL"],
])("checks a text with %s", (_, name, message) => {
  expect(messageFor(CreateWorkspaceRequestSchema, { name, plan: "free" })).toBe(message);
});

test("names the limits of numbers, bytes and lists", () => {
  for (const retentionMinutes of [-1, 1, 9, 5_256_001])
    expect(messageFor(SetRetentionRequestSchema, { retentionMinutes })).toBe(
      "retention_minutes must be 0 or from 10 to 5,256,000",
    );
  for (const retentionMinutes of [0, 10, 5_256_000])
    expect(messageFor(SetRetentionRequestSchema, { retentionMinutes })).toBeUndefined();
  expect(messageFor(ReserveRequestSchema, { turnId: TURN_ID, client: new Uint8Array(33) })).toBe(
    "client must have at most 32 bytes",
  );
  expect(messageFor(CorrectUnpaidRequestSchema, { day: "2026-11-22", unpaid: -1 })).toBe("unpaid must not be negative");
  const turns = Array.from({ length: 1_001 }, () => ({ workspaceId: "ws", turnId: TURN_ID }));
  expect(messageFor(GetReservationsRequestSchema, { turns })).toBe("turns must have at most 1,000 entries");
  expect(limitsOf(AdjustUsageRequestSchema.field.amount)).toEqual({ min: -1_000_000, max: 1_000_000 });
  expect(limitsOf(QuickRepliesSchema.field.values)).toEqual({ min: 0, max: 10 });
  expect(entryLimitsOf(QuickRepliesSchema.field.values)).toEqual({ min: 1, max: 200 });
  expect(() => entryLimitsOf(AdjustUsageRequestSchema.field.amount)).toThrow("amount has no maximum");
});

const HTTP = { description: "Finds an order.", method: "GET", url: "https://a.example/", parameters: "{}" };

test.each<[string, MessageInitShape<typeof PutToolRequestSchema>["tool"], string | undefined]>([
  ["32 characters in its name", { name: "x".repeat(32) }, undefined],
  ["33 characters in its name", { name: "x".repeat(33) }, "name must have at most 32 characters, and no NUL"],
  [
    "a description of 2,000 emoji",
    { kind: { case: "http", value: { ...HTTP, description: "📦".repeat(2_000) } } },
    undefined,
  ],
  ...["📦".repeat(2_001), " "].map(
    (description): [string, MessageInitShape<typeof PutToolRequestSchema>["tool"], string] => [
      `the description ${description.slice(0, 6)}…`,
      { kind: { case: "http", value: { ...HTTP, description } } },
      "description must have 1 to 2,000 characters, not only white space, and no NUL",
    ],
  ),
  [
    "a long URL",
    { kind: { case: "http", value: { ...HTTP, url: `https://a.example/${"x".repeat(2_000)}` } } },
    "url must have at most 2,000 characters, and no NUL",
  ],
  [
    "65 tools of an MCP server",
    { kind: { case: "mcp", value: { url: "https://a.example/", only: Array(65).fill("x") } } },
    "only must have at most 64 entries",
  ],
  [
    "a tool of an MCP server without a name",
    { kind: { case: "mcp", value: { url: "https://a.example/", only: [""] } } },
    "only: each entry must have 1 to 128 characters, and no NUL",
  ],
])("checks a tool with %s", (_, tool, message) => {
  expect(messageFor(PutToolRequestSchema, { tool })).toBe(message);
});

test("names the format of a text, and refuses an empty one only if it is required", () => {
  expect(messageFor(ReserveRequestSchema, { turnId: "no" })).toBe("turn_id must be a UUID");
  expect(messageFor(ListUsageRequestSchema, { month: "2026-13" })).toBe("month must look like 2026-11, or be empty");
  expect(messageFor(ListUsageRequestSchema, { month: "" })).toBeUndefined();
  expect(messageFor(CloseMonthRequestSchema, { month: "" })).toBe("month is missing");
  expect(messageFor(CloseMonthRequestSchema, { month: "2026-1" })).toBe("month must look like 2026-11");
});

test.each(["2026-02-30", "2026-2-3", "today"])("refuses the day %j", (day) => {
  expect(messageFor(CorrectUnpaidRequestSchema, { day })).toBe("day must look like 2026-11-22");
});

test("does not check a field with presence that is not set", () => {
  expect(messageFor(SetKnowledgeLimitsRequestSchema, { plan: "free" })).toBeUndefined();
  expect(messageFor(SetKnowledgeLimitsRequestSchema, { plan: "free", knowledgeDocuments: -1 })).toBe(
    "knowledge_documents must not be negative",
  );
});

test("refuses an unspecified, an unknown and an excluded value of an enum", () => {
  const outcomes = [SettleOutcome.UNSPECIFIED, 99 as SettleOutcome];
  for (const outcome of outcomes)
    expect(messageFor(AdjustTurnsRequestSchema, { outcome, reason: "r" })).toBe("outcome must be DONE or VOID");
  expect(messageFor(ListReservationsRequestSchema, { state: ReservationState.VOID })).toBe(
    "state must be HELD or DONE",
  );
  expect(messageFor(ListReservationsRequestSchema, { state: ReservationState.HELD })).toBeUndefined();
});

test("checks the messages in a list", () => {
  expect(messageFor(SettleRequestSchema, { settlements: [SETTLEMENT] })).toBeUndefined();
  expect(messageFor(SettleRequestSchema, { settlements: [SETTLEMENT, { ...SETTLEMENT, turnId: "no" }] })).toBe(
    "turn_id must be a UUID",
  );
});

test.each([
  [
    { quickReplies: { values: [" "] } },
    "quick_replies: each entry must have 1 to 200 characters, not only white space, and no NUL",
  ],
  [{ quickReplies: { values: Array(11).fill("a") } }, "quick_replies must have at most 10 entries"],
  [
    { texts: { values: { de: { welcomeMessage: "a".repeat(2_001) } } } },
    "texts of de: welcome_message must have at most 2,000 characters, and no NUL",
  ],
  [{ texts: { values: { de: { fallback: "" } } } }, undefined],
  [{ themeMode: "blue" }, "theme_mode must be light, dark or system"],
  [{ borderRadius: 65 }, "border_radius must be from 0 to 64"],
])("the changes %j of a bot: %s", (changes, message) => {
  expect(messageFor(UpdateBotRequestSchema, { changes })).toBe(message);
});

test("an error has the code that the rules name", () => {
  const request = create(UploadLogoRequestSchema, { content: new Uint8Array(200 * 1024 + 1) });
  expect(findInvalidField(UploadLogoRequestSchema, request)).toEqual({
    code: "logo_too_large",
    message: "content must have at most 200 KiB",
  });
});

test.each([
  [{ workspaceId: "a b" }, "workspace_id must be 1 to 64 characters of A-Z a-z 0-9 . _ -"],
  [{ turnId: "1" }, "turn_id must be a UUID"],
  [{ closedAt: "2026-11-20 10:00" }, "closed_at must be a time in UTC like 2026-11-22T18:50:00Z"],
  [{}, undefined],
])("the turn of FillCallLog with %j: %s", (fields, message) => {
  const turn = { workspaceId: "ws", turnId: TURN_ID, closedAt: "2026-11-20T10:00:00Z", ...fields };
  expect(messageFor(FillCallLogRequestSchema, { turns: [turn] })).toBe(message);
});
