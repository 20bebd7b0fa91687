import { expect, test } from "vitest";
import { bodyParser } from "../testing/parse-input.ts";
import { StopRequest, targetOf } from "./stop-request.ts";

const session = { public_key: "svc_pk_x", session_id: "5f0c2d66-7f57-4b8e-8a51-0d6d3a3d9e01" };
const parse = (fields: object) => bodyParser(StopRequest)(JSON.stringify({ ...session, ...fields }));

test.each([
  [{ message_id: 1042 }, { messageId: 1042n }],
  [{ message_id: "9007199254740993" }, { messageId: 9_007_199_254_740_993n }],
  [{ idempotency_key: "k" }, { key: "k" }],
])("%j names a reply", async (fields, target) => {
  expect(targetOf(await parse(fields))).toEqual(target);
});

test.each([
  [{}, "invalid_message", "message_id"],
  [{ message_id: 0 }, "invalid_message", "message_id"],
  [{ message_id: 2 ** 53 }, "invalid_message", "message_id"],
  [{ message_id: "01" }, "invalid_message", "message_id"],
  [{ message_id: 1, idempotency_key: "k" }, "invalid_message", "idempotency_key"],
  [{ message_id: "x", idempotency_key: "k" }, "invalid_message", "idempotency_key"],
  [{ idempotency_key: "a b", session_id: "x" }, "invalid_idempotency_key", "idempotency_key"],
  [{ message_id: 1, session_id: "x" }, "invalid_session_id", "session_id"],
  [{ message_id: 1, session_id: " " }, "invalid_message", "session_id"],
])("%j gets %s, which names %s", async (fields, code, field) => {
  await expect(parse(fields)).rejects.toMatchObject({ code, headers: { "Parley-Error-Field": field } });
});
