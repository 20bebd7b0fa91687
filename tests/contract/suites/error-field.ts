// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { createTenant, type Tenant } from "../../system/system.ts";
import { signVisitorToken } from "../../system/visitors.ts";
import { type Api, type ApiRequest, bearer } from "../support/api.ts";
import {
  type ContractSystem,
  createMemberToken,
  formatDetail,
  formatError,
  formatRefusal,
} from "../support/contract-system.ts";

type Fields = Record<string, unknown>;
/** The fields to replace, the expected code and the expected value of the header. */
type Case = [fields: Fields | string, code: string, field: string, headers?: Record<string, string>];

const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) });
const absent = undefined;

const BODY_CASES: Case[] = [
  ["", "invalid_json", "body"],
  ["{", "invalid_json", "body"],
  ["[]", "invalid_message", "body"],
  ["null", "invalid_message", "body"],
  ['"message"', "invalid_message", "body"],
  ["[".repeat(20_000), "invalid_message", "body"],
  ["{}", "invalid_json", "Content-Encoding", { "content-encoding": "gzip" }],
  [{ other: "\0" }, "invalid_message", "other"],
  [{ other: "\ud800" }, "invalid_message", "other"],
  [{ "a\r\nx: y": "\0" }, "invalid_message", "body"],
  [{ "\0": 1 }, "invalid_message", "body"],
  [{ ["x".repeat(65)]: "\0" }, "invalid_message", "body"],
  [{ ümlaut: nested(40) }, "invalid_message", "body"],
  [{ other: nested(40) }, "invalid_message", "other"],
  [{ other: new Array(9_000).fill(0) }, "invalid_message", "other"],
];
const SESSION_CASES: Case[] = [
  [{ session_id: absent }, "invalid_message", "session_id"],
  [{ session_id: 1 }, "invalid_message", "session_id"],
  [{ session_id: "x" }, "invalid_session_id", "session_id"],
];
const KEY_CASES: Case[] = [
  [{ public_key: absent }, "invalid_message", "public_key"],
  [{ public_key: " " }, "invalid_message", "public_key"],
];
const MESSAGE_CASES: Case[] = [
  [{ message: absent }, "invalid_message", "message"],
  [{ message: "\u200b" }, "invalid_message", "message"],
  [{ message: ["a"] }, "invalid_message", "message"],
  [{ message: "a\0" }, "invalid_message", "message"],
  [{ message: "a".repeat(4_001) }, "message_too_long", "message"],
  [{ visitor_metadata: null }, "invalid_message", "visitor_metadata"],
  [{ visitor_metadata: [] }, "invalid_message", "visitor_metadata"],
  [{ visitor_metadata: "{}" }, "invalid_message", "visitor_metadata"],
  [{ visitor_metadata: { a: 2 ** 53 } }, "invalid_message", "visitor_metadata"],
  [{ visitor_metadata: { a: "x".repeat(17_000) } }, "invalid_message", "visitor_metadata"],
  [{ visitor_metadata: { a: new Array(9_000).fill(0) } }, "invalid_message", "visitor_metadata"],
  [{ visitor_metadata: nested(33) }, "invalid_message", "visitor_metadata"],
  [{ visitor_metadata: { "a\0": 1 } }, "invalid_message", "visitor_metadata"],
  [{}, "invalid_idempotency_key", "Idempotency-Key", { "idempotency-key": "a b" }],
  [{}, "invalid_last_event_id", "Last-Event-ID", { "idempotency-key": "k", "last-event-id": "x" }],
];
const VISITOR_CASES: Case[] = [
  [{ visitor_id: 1 }, "invalid_message", "visitor_id"],
  [{ visitor_id: null }, "invalid_message", "visitor_id"],
  [{ visitor_id: {} }, "invalid_message", "visitor_id"],
  [{ visitor_id: "v".repeat(1_025) }, "invalid_message", "visitor_id"],
  [{ visitor_id: "\udfff" }, "invalid_message", "visitor_id"],
];
const STOP_CASES: Case[] = [
  [{ message_id: absent }, "invalid_message", "message_id"],
  [{ message_id: "0" }, "invalid_message", "message_id"],
  [{ idempotency_key: "k" }, "invalid_message", "idempotency_key"],
  [{ message_id: absent, idempotency_key: "a b" }, "invalid_idempotency_key", "idempotency_key"],
];
const BOT_CASES: Case[] = [[{ bot_slug: absent }, "invalid_message", "bot_slug"]];
const RATING_CASES: Case[] = [
  [{ rating: "sideways" }, "invalid_message", "rating"],
  [{ rating: null }, "invalid_message", "rating"],
  [{ message_id: 1.5 }, "invalid_message", "message_id"],
  [{ reason: 1 }, "invalid_message", "reason"],
];
const DOCTOR_CASES: Case[] = [[{ silence_ms: "1" }, "invalid_message", "silence_ms"]];

export function errorFieldSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;
  let token: string;
  let secret: string;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin);
    ({ secret } = await system.admin.identityKeys.createIdentityKey({ workspaceId: tenant.workspaceId }));
    token = await createMemberToken(system, tenant);
  });

  async function expectFields(path: string, valid: Fields, cases: readonly Case[]): Promise<void> {
    const isPlayground = path.includes("playground");
    const format = isPlayground ? formatDetail : formatError;
    for (const [fields, code, field, headers] of cases) {
      const body = typeof fields === "string" ? fields : { ...valid, ...fields };
      const request: ApiRequest = { method: "POST", path, body, headers: { ...caller(isPlayground), ...headers } };
      const answer = await api.call(request);
      const label = `${path} ${JSON.stringify(fields).slice(0, 100)} ${JSON.stringify(headers ?? {})}`;
      expect(formatRefusal(answer), label).toBe(format(400, code));
      expect(answer.headers.get("parley-error-field"), label).toBe(field);
    }
  }
  const caller = (isPlayground: boolean) => (isPlayground ? bearer(token) : { origin: tenant.origin });

  test("each 400 of an endpoint names the field at fault, and nothing else of the request [D44/1-3]", async () => {
    const session = { session_id: randomUUID() };
    const key = { public_key: tenant.publicKey };
    const bot = { bot_slug: tenant.botSlug };
    const message = { ...session, message: "Hello?" };
    const reply = { ...session, message_id: "1" };
    const messageCases = [...BODY_CASES, ...SESSION_CASES, ...MESSAGE_CASES];
    const stopCases = [...BODY_CASES, ...SESSION_CASES, ...STOP_CASES];
    await expectFields("/api/chat/", { ...key, ...message }, [...messageCases, ...KEY_CASES, ...VISITOR_CASES]);
    await expectFields("/api/chat/playground/", { ...bot, ...message }, [...messageCases, ...BOT_CASES]);
    const small = ([fields]: Case) => JSON.stringify(fields).length < 8_000;
    await expectFields("/api/chat/stop/", { ...key, ...reply }, [...stopCases, ...KEY_CASES].filter(small));
    await expectFields("/api/chat/playground/stop/", { ...bot, ...reply }, [...stopCases, ...BOT_CASES].filter(small));
    const rating = { ...key, ...reply, rating: "up" };
    await expectFields(
      "/api/chat/rating/",
      rating,
      [...BODY_CASES, ...SESSION_CASES, ...KEY_CASES, ...RATING_CASES].filter(small),
    );
    await expectFields("/api/doctor/", key, [...BODY_CASES, ...KEY_CASES, ...DOCTOR_CASES].filter(small));
    for (const query of ["", "?public_key=", "?public_key=%E2%80%8B", "?public_key=a&public_key=b"]) {
      const answer = await api.call({ path: `/api/widget/config/${query}`, headers: { origin: tenant.origin } });
      expect(formatRefusal(answer)).toBe(formatError(400, "invalid_message"));
      expect(answer.headers.get("parley-error-field")).toBe("public_key");
    }
  });

  test("each 400 of the history names the parameter at fault [D44/1] [D50/7]", async () => {
    const token = await signVisitorToken(secret, "X");
    const cases = [
      ["?public_key=", "public_key"],
      [`?public_key=${tenant.publicKey}&public_key=x`, "public_key"],
      [`?public_key=${tenant.publicKey}&limit=1`, "limit"],
      [`?public_key=${tenant.publicKey}&cursor=x`, "cursor"],
      [`?public_key=${tenant.publicKey}&cursor=99999999999999999.${randomUUID()}`, "cursor"],
    ] as const;
    const messageCases = [...cases.slice(0, 3), [`?public_key=${tenant.publicKey}&before=0`, "before"]] as const;
    const calls = [
      ...cases.map(([query, field]) => ({ path: `/api/chat/sessions/${query}`, field })),
      ...messageCases.map(([query, field]) => ({
        path: `/api/chat/sessions/${randomUUID()}/messages/${query}`,
        field,
      })),
    ];
    for (const { path, field } of calls) {
      const answer = await api.call({ path, headers: { origin: tenant.origin, ...bearer(token) } });
      expect(formatRefusal(answer), path).toBe(formatError(400, "invalid_parameter"));
      expect(answer.headers.get("parley-error-field"), path).toBe(field);
    }
  });

  test("a position that does not exist in the reply is reported as `Last-Event-ID` [D44/1]", async () => {
    const fields = { session_id: randomUUID() };
    const headers = { "idempotency-key": randomUUID() };
    await api.chat(tenant, fields, headers);
    const answer = await api.refusedChat(tenant, fields, { headers: { ...headers, "last-event-id": "1-999" } });
    expect(formatRefusal(answer)).toBe(formatError(400, "invalid_last_event_id"));
    expect(answer.headers.get("parley-error-field")).toBe("Last-Event-ID");
  });
}
