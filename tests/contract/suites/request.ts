// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { text as readText } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import { type Api, bearer, chatFields } from "../support/api.ts";
import {
  type ContractSystem,
  createMemberToken,
  formatDetail,
  formatError,
  formatRefusal,
  MALFORMED_KEY,
  readTranscript,
  waitForUsedMessages,
} from "../support/contract-system.ts";

export function requestSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin);
  });

  /** Sends a chat request with this body. Returns the status and the text of the response. */
  async function answerTo(body: string | Uint8Array, headers: Record<string, string> = {}): Promise<string> {
    const { origin } = tenant;
    return formatRefusal(await api.call({ method: "POST", path: "/api/chat/", headers: { origin, ...headers }, body }));
  }

  const answerToFields = (fields: Record<string, unknown>) => answerTo(JSON.stringify(chatFields(tenant, fields)));

  test("a body that is not JSON gets invalid_json [7.1/1-2] [4.1/4] [H/6]", async () => {
    const valid = JSON.stringify(chatFields(tenant));
    const bodies = ["", "{", valid.slice(0, -1), `\uFEFF${valid}`, Buffer.from(valid, "utf16le"), "{'a':1}", "NaN"];
    for (const body of [...bodies, Buffer.from([0x22, 0xff, 0x22]), gzipSync(valid)])
      expect(await answerTo(body), String(body)).toBe(formatError(400, "invalid_json"));
  });

  test("a body that is not an object gets invalid_message [D2/1] [H/6]", async () => {
    for (const body of ["[]", '"x"', "null", "1", "true"])
      expect(await answerTo(body), body).toBe(formatError(400, "invalid_message"));
  });

  test("public_key, session_id and message are required strings [2.1/1-2] [2.1/4] [7.1/3] [D2/1]", async () => {
    for (const field of ["public_key", "session_id", "message"])
      for (const value of [undefined, null, 123, true, [], {}])
        expect(await answerToFields({ [field]: value }), `${field} ${value}`).toBe(formatError(400, "invalid_message"));
  });

  test("an empty or blank message gets invalid_message [D2/1] [H/5]", async () => {
    for (const message of ["", " ", "\n\t \u2003"])
      expect(await answerToFields({ message })).toBe(formatError(400, "invalid_message"));
  });

  test("NUL and lone surrogates get invalid_message in every field [D2/2] [H/5]", async () => {
    for (const bad of ["a\0b", "a\uD800b", "\uDC00"])
      for (const fields of [
        { message: bad },
        { visitor_id: bad },
        { visitor_metadata: { deep: [{ [bad]: 1 }] } },
        { visitor_metadata: { deep: [bad] } },
        { session_id: bad },
        { public_key: bad },
      ])
        expect(await answerToFields(fields)).toBe(formatError(400, "invalid_message"));
  });

  test("visitor_id is a string of at most 1,024 characters [2.1/6] [D5/3]", async () => {
    for (const visitor_id of [1, null, {}, "x".repeat(1_025)])
      expect(await answerToFields({ visitor_id })).toBe(formatError(400, "invalid_message"));
    const { done } = await api.chat(tenant, { visitor_id: "👋".repeat(1_024) });
    expect(done?.finish_reason).toBe("stop");
  });

  test("visitor_metadata is an object of at most 16 KiB and 32 levels [2.1/7] [D2/1] [D5/2] [H/5]", async () => {
    const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`);
    for (const visitor_metadata of ["x", 1, null, [], nested(33), { a: "x".repeat(16 * 1_024) }])
      expect(await answerToFields({ visitor_metadata })).toBe(formatError(400, "invalid_message"));
    const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;
    expect(
      await answerTo(JSON.stringify(chatFields(tenant, { visitor_metadata: 0 })).replace(":0", `:{"a":${deep}}`)),
    ).toBe(formatError(400, "invalid_message"));
    for (const visitor_metadata of [{}, nested(32), { a: "x".repeat(16 * 1_024 - 8) }])
      expect((await api.chat(tenant, { visitor_metadata })).done?.finish_reason).toBe("stop");
  });

  test("metadata keys such as __proto__ are stored as data [H/5]", async () => {
    const session_id = randomUUID();
    const body = JSON.stringify(chatFields(tenant, { session_id, visitor_metadata: 0 })).replace(
      ":0",
      ':{"__proto__":{"admin":true},"constructor":{"prototype":1}}',
    );
    const { status } = await api.send({ method: "POST", path: "/api/chat/", headers: { origin: tenant.origin }, body });
    expect(status).toBe(200);
    const { session } = await readTranscript(system, tenant, session_id);
    expect(JSON.stringify(session.visitor_metadata)).toContain('"__proto__"');
    expect(session.visitor_metadata).not.toHaveProperty("admin");
  });

  test("a message has at most 4000 Unicode code points [2.1/5] [7.1/4] [8/1] [D3/1] [H/4]", async () => {
    for (const message of ["x".repeat(4_001), "👋".repeat(4_001)])
      expect(await answerToFields({ message })).toBe(formatError(400, "message_too_long"));
    for (const message of ["x".repeat(4_000), "👋".repeat(4_000)])
      expect((await api.chat(tenant, { message })).done?.finish_reason).toBe("stop");
  });

  test("a message of 70,000 characters gets message_too_long even when all other fields have their maximum length [D5/4] [2.1/5]", async () => {
    const others = { visitor_id: "👋".repeat(1_024), visitor_metadata: { a: "x".repeat(16 * KIB - 8) } };
    for (const message of ["x".repeat(70_000), "é".repeat(70_000), "👋".repeat(70_000)])
      expect(await answerToFields({ ...others, message })).toBe(formatError(400, "message_too_long"));
  });

  test("a body with too many levels or too many bytes outside strings gets invalid_message, whichever field has them [D5/5]", async () => {
    const deep = (levels: number) => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);
    for (const field of ["visitor_metadata", "unknown_field"])
      for (const value of [{ a: deep(32) }, { a: new Array(9_000).fill(0) }])
        expect(await answerToFields({ [field]: value })).toBe(formatError(400, "invalid_message"));
    const { done } = await api.chat(tenant, { unknown_field: deep(32), visitor_metadata: { a: deep(31) } });
    expect(done?.finish_reason).toBe("stop");
  });

  test("session_id is a UUID [2.1/2] [7.1/5]", async () => {
    const uuid = randomUUID();
    for (const session_id of ["", "1", `{${uuid}}`, `${uuid} `, uuid.replaceAll("-", ""), `${uuid.slice(0, -1)}g`])
      expect(await answerToFields({ session_id })).toBe(formatError(400, "invalid_session_id"));
    const { meta } = await api.chat(tenant, { session_id: uuid.toUpperCase() });
    expect(meta?.session_id).toBe(uuid);
  });

  test("the body is parsed as JSON, whatever its Content-Type [D4/1] [4.1/1]", async () => {
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "not-a-media-type",
    ])
      expect((await api.chat(tenant, {}, { "content-type": type })).done?.finish_reason).toBe("stop");
    expect(await answerTo("public_key=1", { "content-type": "application/x-www-form-urlencoded" })).toBe(
      formatError(400, "invalid_json"),
    );
  });

  test("a body above its endpoint's limit gets 413, chunked or not [D5/1] [H/6]", async () => {
    expect(await upload({ "content-length": String(10 * MIB) }, 1)).toBe(formatError(413, "payload_too_large"));
    expect(await upload({ "transfer-encoding": "chunked" }, 300 * KIB + 1)).toBe(formatError(413, "payload_too_large"));
    // The edge does not decompress a body. It parses the compressed bytes, which are within the limit and are not JSON.
    const bomb = gzipSync(Buffer.alloc(10 * MIB, " "));
    expect(await answerTo(bomb, { "content-encoding": "gzip" })).toBe(formatError(400, "invalid_json"));
    const headers = { origin: tenant.origin, ...bearer(await createMemberToken(system, tenant)) };
    const limits: [string, number, typeof formatError][] = [
      ["/api/chat/", 300 * KIB, formatError],
      ["/api/chat/playground/", 300 * KIB, formatDetail],
      ["/api/chat/rating/", 8 * KIB, formatError],
      ["/api/doctor/", 8 * KIB, formatError],
    ];
    for (const [path, bytes, format] of limits) {
      const justFits = "{}".padEnd(bytes, " ");
      const call = { method: "POST", path, headers };
      expect(formatRefusal(await api.call({ ...call, body: justFits }))).toBe(format(400, "invalid_message"));
      expect(formatRefusal(await api.call({ ...call, body: `${justFits} ` }))).toBe(format(413, "payload_too_large"));
    }
  });

  test("a wrong method or path gets its error before the body is read [4.1/3] [D11/5]", async () => {
    for (const [method, path, status] of [
      ["PUT", "/api/chat/", 405],
      ["DELETE", "/api/chat/rating/", 405],
      ["OPTIONS", "/api/doctor/", 405],
      ["POST", "/api/chat/nothing", 404],
    ] as const)
      expect(await upload({ "content-length": "1000" }, 1, { method, path })).toMatch(new RegExp(`^${status} `));
  });

  const KIB = 1_024;
  const MIB = KIB * KIB;

  /** Sends `bytes` bytes of a body and does not end the request. Returns the status and the text of the response. */
  async function upload(
    headers: Record<string, string>,
    bytes: number,
    { method = "POST", path = "/api/chat/" } = {},
  ): Promise<string> {
    const { origin } = tenant;
    const clientRequest = httpRequest(`${system.url()}${path}`, { method, headers: { ...headers, origin } });
    clientRequest.write(Buffer.alloc(bytes, " "));
    const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
    const answer = `${response.statusCode} ${await readText(response)}`;
    clientRequest.destroy();
    return answer;
  }

  test("the first failing check is reported [D1/1] [4.1/4]", async () => {
    const address = newClientAddress();
    const origin = "https://elsewhere.example";
    const fields: Record<string, unknown> = {
      public_key: MALFORMED_KEY,
      session_id: "no uuid",
      message: "x".repeat(4_001),
    };
    // Uses up the chat rate limit of `address`.
    for (let count = 0; count < 60; count++) await api.refusedChat(tenant, { public_key: MALFORMED_KEY }, { address });

    const deleted = randomUUID();
    await api.chat(tenant, { session_id: deleted });
    await system.admin.sessions.deleteSession({ workspaceId: tenant.workspaceId, sessionId: deleted });

    const refused = async (body: Record<string, unknown>, call = { address, headers: { origin } }) =>
      formatRefusal(await api.refusedChat(tenant, body, call));
    const fromNewAddress = () => ({ address: newClientAddress(), headers: { origin } });
    expect(await answerTo("{", { "x-forwarded-for": address })).toBe(formatError(400, "invalid_json"));
    expect(await refused({ ...fields, public_key: undefined })).toBe(formatError(400, "invalid_message"));
    expect(await refused(fields)).toBe(formatError(400, "message_too_long"));
    fields.message = "Hello";
    expect(await refused(fields)).toBe(formatError(400, "invalid_session_id"));
    fields.session_id = deleted;
    expect(await refused(fields)).toBe(formatError(429, "rate_limited"));
    expect(await refused(fields, fromNewAddress())).toBe(formatError(401, "invalid_api_key"));
    fields.public_key = tenant.publicKey;
    expect(await refused(fields, fromNewAddress())).toBe(formatError(403, "origin_not_allowed"));
    expect(formatRefusal(await api.refusedChat(tenant, fields))).toBe(formatError(404, "session_not_found"));
  });

  test("a request that fails validation does not count against the chat rate limit [D1/2]", async () => {
    const address = newClientAddress();
    for (let count = 0; count < 65; count++) await api.refusedChat(tenant, { message: "" }, { address });
    const response = await api.openChat(tenant, {}, { address });
    await response.text();
    expect(response.headers.get("ratelimit")).toMatch(/^"chat";r=59;/);
  });

  test("a method that the path does not have gets 405 with Allow [4.1/3] [7.1/8] [D11/5]", async () => {
    const methods = ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT"];
    const paths = {
      "/api/chat/": "POST, OPTIONS",
      "/api/chat/rating/": "POST, OPTIONS",
      "/api/widget/config/": "GET, OPTIONS",
      "/api/chat/sessions/": "GET, OPTIONS",
      [`/api/chat/sessions/${randomUUID()}/messages/`]: "GET, OPTIONS",
      "/api/chat/playground/": "POST",
      [`/api/conversations/${randomUUID()}/export.json`]: "GET",
      [`/api/conversations/${randomUUID()}/notes/`]: "GET, POST",
      "/healthz/live": "GET, HEAD",
      "/healthz/ready": "GET, HEAD",
    };
    for (const [path, allow] of Object.entries(paths)) {
      const errorKey = allow.includes("OPTIONS") || path.startsWith("/healthz/") ? "error" : "detail";
      // The edge accepts OPTIONS only as a CORS preflight, so a plain OPTIONS request gets 405.
      const allowed = allow.split(", ").filter((each) => each !== "OPTIONS");
      for (const method of [...methods, "POST"].filter((each) => !allowed.includes(each))) {
        const { status, headers, text } = await api.call({ method, path, headers: { origin: tenant.origin } });
        expect(status, `${method} ${path}`).toBe(405);
        expect(headers.get("allow")).toBe(allow);
        if (method !== "HEAD") expect(text).toBe(`{"${errorKey}":"method_not_allowed"}`);
      }
    }
  });

  test("a refused request is not stored and does not count as a used message [4.1/4]", async () => {
    const unused = await createTenant(system.admin);
    const session_id = randomUUID();
    for (const fields of [{ message: "" }, { message: "x".repeat(4_001) }, { visitor_metadata: [] }])
      await api.refusedChat(unused, { session_id, ...fields });
    const { status } = await api.exportTranscript(
      await system.sso.token({ workspaceId: unused.workspaceId }),
      session_id,
    );
    expect(status).toBe(404);
    expect(await waitForUsedMessages(system, unused)).toBe(0);
  });

  test("paths have no version prefix, and responses no version header [9/1]", async () => {
    const paths = Object.keys(api.description.document.paths ?? {});
    expect(paths).toContain("/api/chat/");
    for (const path of paths) expect(path).not.toMatch(/\/v\d/);
    const { headers } = await api.getConfig(tenant);
    expect([...headers.keys()].filter((name) => name.includes("version"))).toEqual([]);
  });

  test("management calls are not public endpoints [1/6]", async () => {
    for (const service of [
      "conversation.v1.BotAdminService/CreateBot",
      "quota.v1.WorkspaceAdminService/CreateWorkspace",
    ])
      expect(formatRefusal(await api.call({ method: "POST", path: `/parley.${service}`, body: {} }))).toBe(
        formatError(404, "not_found"),
      );
    expect((await api.call({ path: "/metrics" })).status).toBe(404);
  });

  test("the health endpoints return 200 when the edge is ready [D31/1]", async () => {
    expect((await api.call({ path: "/healthz/live" })).body).toEqual({ status: "live" });
    expect((await api.call({ path: "/healthz/ready" })).body).toEqual({ status: "ready" });
    for (const path of ["/healthz/live", "/healthz/ready"])
      expect(await api.call({ method: "HEAD", path })).toMatchObject({ status: 200, text: "" });
  });
}
