import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./system/processes.ts";

const page = await readFile(join(root, "docs/retries.md"), "utf8");
const [, code = ""] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
const define = new Function("fetch", "setTimeout", `${code}; return readReply;`) as (
  fetch: () => Promise<Response>,
  setTimeout: (callback: () => void) => void,
) => (url: string, body: object, key: string) => Promise<{ text: string }>;

const refuse = (status: number, body: string) => () => new Response(body, { status });
const reply = () =>
  new Response(
    'id: 1-0\nevent: meta\ndata: {}\n\nid: 1-2\nevent: token\ndata: {"text":"Hi"}\n\nid: 1-2\nevent: done\ndata: {"finish_reason":"stop"}\n\n',
  );

/** Calls the function of docs/retries.md, without its delays. The server sends these responses and then the reply. Returns the result and the number of requests. */
async function readWith(...responses: (() => Response)[]) {
  let requests = 0;
  const readReply = define(
    async () => (responses[requests++] ?? reply)(),
    (callback) => callback(),
  );
  const result = await readReply("https://chat.example.com/api/chat/", {}, "key").catch(({ message }) => message);
  return { result, requests };
}

test.each([
  [429, '{"error":"visitor_limit"}', "visitor_limit"],
  [409, '{"error":"idempotency_key_reused"}', "idempotency_key_reused"],
  [404, '{"error":"session_not_found"}', "session_not_found"],
  [403, "<html>", "status 403"],
])("the function of docs/retries.md does not repeat a request that got %i %s", async (status, body, result) => {
  expect(await readWith(refuse(status, body))).toEqual({ result, requests: 1 });
});

test.each([
  [429, '{"error":"rate_limited"}'],
  [503, '{"error":"overloaded"}'],
])("the function of docs/retries.md repeats a request that got %i %s", async (status, body) => {
  expect(await readWith(refuse(status, body))).toEqual({ result: { text: "Hi", finish_reason: "stop" }, requests: 2 });
});
