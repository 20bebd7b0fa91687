import type { Logger } from "@parley/service-kit";
import type { FastifyRequest } from "fastify";
import { expect, test, vi } from "vitest";
import type { Refusal } from "../http/index.ts";
import { createRefusalRecorder, type RefusalRecord } from "./refusal-recorder.ts";

const KEY = "svc_pk_0123456789abcdefWXYZ";
const ADDRESS = "192.0.2.1";

function createRecorder() {
  const clock = { nowMs: 0 };
  const stored: RefusalRecord[] = [];
  const log = { info: vi.fn(), warn: vi.fn() };
  const record = createRefusalRecorder({
    findWorkspaceId: (publicKey) => (publicKey === KEY ? "w" : undefined),
    hashClient: (workspaceId, bucket) => Buffer.from(`${workspaceId} ${bucket}`.padEnd(16, "-")).reverse(),
    store: (each) => stored.push(each),
    log: log as unknown as Logger,
    monotonicMs: () => clock.nowMs,
  });
  const refuse = (refusal: Partial<Refusal> = {}, request: Partial<FastifyRequest> = {}) =>
    record({ code: "rate_limited", status: 429, reason: "chat", route: "/api/chat/", ...refusal }, {
      id: "r",
      ip: ADDRESS,
      publicKey: KEY,
      workspaceId: "",
      ...request,
    } as FastifyRequest);
  return { clock, stored, log, refuse };
}

test("logs and stores the request id, the reason, the end of the key and a hash of the address, and finds the key's workspace", () => {
  const { stored, log, refuse } = createRecorder();
  refuse();
  const fields = { code: "rate_limited", status: 429, reason: "chat", route: "/api/chat/", client: expect.any(String) };
  expect(stored).toEqual([
    { ...fields, refusedAtMs: expect.any(Number), requestId: "r", workspaceId: "w", keySuffix: "WXYZ" },
  ]);
  expect(log.info.mock.calls).toEqual([
    [{ ...fields, request_id: "r", workspace_id: "w", key_suffix: "WXYZ" }, "request refused"],
  ]);
  expect(stored[0]?.client).toMatch(/^[0-9a-f]{12}$/);
  expect(JSON.stringify([stored, log.info.mock.calls])).not.toMatch(new RegExp(`${KEY}|${ADDRESS}`));
});

test.each(["short_key", "joe@example.com 1234", "pass word pass word"])(
  "logs no part of %j, which is no key",
  (publicKey) => {
    const { stored, refuse } = createRecorder();
    refuse({ code: "invalid_api_key", status: 401 }, { publicKey });
    expect(stored).toMatchObject([{ keySuffix: "", workspaceId: "" }]);
  },
);

test("records 5 refusals of a client with one code in 10 s, and all of another client or code; the next line counts the others", () => {
  const { clock, stored, log, refuse } = createRecorder();
  for (let sent = 0; sent < 8; sent++) refuse();
  expect(stored).toHaveLength(5);
  refuse({}, { ip: "192.0.2.2" });
  expect(stored).toHaveLength(6);
  expect(log.info.mock.lastCall).toMatchObject([{ unrecorded: 3 }, "request refused"]);
  refuse({ code: "origin_not_allowed" });
  expect(stored).toHaveLength(7);
  expect(log.info.mock.lastCall?.[0]).not.toHaveProperty("unrecorded");
  refuse();
  expect(stored).toHaveLength(7);
  clock.nowMs = 10_001;
  refuse();
  expect(stored).toHaveLength(8);
});

test("records at most 100 refusals of all clients in 10 s", () => {
  const { clock, stored, log, refuse } = createRecorder();
  for (let sent = 0; sent < 150; sent++) refuse({}, { ip: `192.0.2.${sent}` });
  expect(stored).toHaveLength(100);
  expect(log.info).toHaveBeenCalledTimes(100);
  clock.nowMs = 10_001;
  refuse();
  expect(log.info.mock.lastCall).toMatchObject([{ unrecorded: 50 }, "request refused"]);
});

test("neither logs nor stores consent_required, which every new visitor gets", () => {
  const { stored, log, refuse } = createRecorder();
  refuse({ code: "consent_required", status: 403, reason: "" });
  expect(stored).toEqual([]);
  expect([...log.info.mock.calls, ...log.warn.mock.calls]).toEqual([]);
});

test("logs a failure as a warning with its cause, and neither logs nor stores a client that has left or a request outside the API", () => {
  const { stored, log, refuse } = createRecorder();
  const error = new Error("no database");
  refuse({ code: "unavailable", status: 503, error });
  expect(log.warn.mock.calls).toMatchObject([[{ error, code: "unavailable", request_id: "r" }, "request failed"]]);
  refuse({ code: "overloaded", status: 503, reason: "client", error });
  expect(log.info.mock.calls).toMatchObject([[{ code: "overloaded", reason: "client" }, "request refused"]]);
  expect(log.info.mock.calls[0]?.[0]).not.toHaveProperty("error");
  expect(stored).toHaveLength(2);
  refuse({ code: "client_gone", status: 499 });
  refuse({ code: "not_found", status: 404, route: "none" });
  expect(stored).toHaveLength(2);
  expect([...log.info.mock.calls, ...log.warn.mock.calls]).toHaveLength(2);
});
