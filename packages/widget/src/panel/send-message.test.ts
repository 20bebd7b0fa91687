import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Failure } from "../shared/failure.ts";
import type { PanelContext } from "../shared/types.ts";
import { sendMessage } from "./send-message.ts";

/** What the service sends to the next requests: the code of a refusal, or a complete reply after them. */
let refusals: { error: string; challenge?: string }[];
let requests: { key: string | undefined; language: string | undefined; body: Record<string, unknown> }[];

beforeEach(() => {
  requests = [];
  vi.stubGlobal("navigator", { onLine: true });
  vi.stubGlobal("fetch", async (_: string, { headers, body }: { headers: Record<string, string>; body: string }) => {
    requests.push({ key: headers["Idempotency-Key"], language: headers["Accept-Language"], body: JSON.parse(body) });
    const refusal = refusals.shift();
    return refusal
      ? Response.json(refusal, { status: 403 })
      : new Response(
          'event: meta\ndata: {"message_id":1}\n\nevent: token\ndata: {"text":"Yes"}\n\nevent: done\ndata: {}\n\n',
        );
  });
});
afterEach(() => vi.unstubAllGlobals());

const context = { base: "https://chat.example/", publicKey: "svc_pk_1", lang: "pt-pt", visitor: {} } as PanelContext;
const PASSES: Readonly<Record<string, Record<string, string>>> = {
  challenge_required: { challenge_pass: "pass-2" },
  consent_required: { consent_version: "v1" },
};

function send(passGate = vi.fn(async ({ code }: Failure) => PASSES[code] ?? {})) {
  const message = { session: "s-1", message: "Hi", key: "key-1", gate: { challenge_pass: "pass-1" } };
  const outcome = sendMessage(context, message, new AbortController().signal, { onReply: () => undefined, passGate });
  return { outcome, passGate };
}
const gateFields = () =>
  requests.map(({ body: { challenge_pass, consent_version } }) => [challenge_pass, consent_version]);

it("sends the session's fields of the gate with the message", async () => {
  refusals = [];
  const { outcome, passGate } = send();
  expect(await outcome).toBeUndefined();
  expect(gateFields()).toEqual([["pass-1", undefined]]);
  expect(requests[0]?.language).toBe("pt-pt");
  expect(passGate).not.toHaveBeenCalled();
});

it("after each refusal of the gate, adds the fields of its pass and repeats the request with the same key", async () => {
  refusals = [{ error: "consent_required" }, { error: "challenge_required", challenge: "puzzle" }];
  const { outcome, passGate } = send();
  expect(await outcome).toBeUndefined();
  expect(gateFields()).toEqual([
    ["pass-1", undefined],
    ["pass-1", "v1"],
    ["pass-2", "v1"],
  ]);
  expect(new Set(requests.map(({ key }) => key))).toEqual(new Set(["key-1"]));
  expect(passGate.mock.calls.map(([{ body }]) => body)).toEqual([
    { error: "consent_required" },
    { error: "challenge_required", challenge: "puzzle" },
  ]);
});

it("repeats a request once after each code, and then throws the refusal", async () => {
  refusals = [{ error: "consent_required" }, { error: "invalid_visitor_token" }, { error: "consent_required" }];
  await expect(send().outcome).rejects.toMatchObject({ code: "consent_required" });
  expect(requests).toHaveLength(3);
});

it("does not repeat the request if the visitor declines, or after other refusals", async () => {
  refusals = [{ error: "consent_required" }];
  const decline = vi.fn(() => Promise.reject(new Failure("stopped")));
  await expect(send(decline).outcome).rejects.toMatchObject({ code: "stopped" });
  refusals = [{ error: "origin_not_allowed" }];
  await expect(send().outcome).rejects.toMatchObject({ code: "origin_not_allowed" });
  expect(requests).toHaveLength(2);
});

it.each([
  ["a person who has taken the session over", "event: handoff\ndata: {}\n\n", undefined],
  ["the visitor in another tab", "", { code: "stopped" }],
])("after %s has cancelled the reply, returns whether it was stopped", async (_, event, failure) => {
  const done = 'event: done\ndata: {"finish_reason":"cancelled"}\n\n';
  vi.stubGlobal("fetch", async () => new Response(`event: meta\ndata: {"message_id":1}\n\n${event}${done}`));
  const outcome = await send().outcome;
  failure ? expect(outcome).toMatchObject(failure) : expect(outcome).toBeUndefined();
});
