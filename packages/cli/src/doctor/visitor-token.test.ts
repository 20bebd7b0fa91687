import { expect, test } from "vitest";
import { explainVisitorToken } from "./visitor-token.ts";

const SERVER_TIME = "2026-11-30T12:00:00Z";
const NOW = Date.parse(SERVER_TIME) / 1_000;
const HOUR = 3_600;

const partOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const tokenOf = (claims: object = {}, header: object = {}) =>
  `${partOf({ alg: "HS256", ...header })}.${partOf({ sub: "private-name", exp: NOW + HOUR, ...claims })}.c2ln`;

/** Explains a token for which the edge has reported this result. */
const explain = (result: string | undefined, token: string) =>
  explainVisitorToken(
    { status: 200, isStream: true, meta: { server_time: SERVER_TIME, ...(result && { visitor_token: result }) } },
    token,
  );

test.each([
  [HOUR, "60 min"],
  [90, "90 s"],
  [5 * HOUR, "5 h"],
  [-10, "0 s"],
])("reports when a token that expires in %i s expires", (seconds, text) => {
  expect(explain("accepted", tokenOf({ exp: NOW + seconds }))).toEqual({
    check: "visitor_token",
    result: "pass",
    message: `accepted; it expires in ${text}`,
  });
});

test.each<[result: string, token: string, message: RegExp, fix: RegExp]>([
  ["expired", tokenOf({ exp: NOW - 600 }), /^it expired 10 min ago by the edge's clock$/, /clock with NTP/],
  ["kid", tokenOf({}, { kid: "old" }), /no identity key with the kid "old"$/, /identity-key list/],
  ["kid", tokenOf({}, { alg: "none" }), /no identity key for the alg "none"$/, /identity-key list/],
  ["signature", tokenOf({}, { kid: "k" }), /identity key "k" does not verify/, /parley_visitor_/],
  ["signature", tokenOf(), /no identity key of the workspace verifies/, /public key's workspace/],
  ["malformed", "x".repeat(6_145), /^it has 6,145 characters, more than 6,144 characters$/, /metadata/],
  ["malformed", "abc", /three parts in base64url/, /whole token/],
  ["malformed", `${partOf({ alg: "HS256" })}.${partOf([])}.c2ln`, /JSON objects/, /whole token/],
  ["malformed", tokenOf({}, { kid: "k" }).replace(".c2ln", ""), /three parts in base64url/, /whole token/],
  ["malformed", tokenOf({}, { kid: "k", alg: "ES256" }), /alg "ES256" is not.*key "k"$/, /for this kid/],
  ["malformed", tokenOf({}, { kid: "k", crit: ["x"] }), /header or signature/, /docs\/visitors\.md/],
  ["claims", tokenOf({ sub: undefined }), /^sub is missing$/, /1 to 1,024 characters/],
  ["claims", tokenOf({ sub: 42 }), /^sub is not text$/, /as text/],
  ["claims", tokenOf({ sub: "" }), /^sub is empty$/, /your own id/],
  ["claims", tokenOf({ sub: "x".repeat(1_025) }), /^sub is too long$/, /1 to 1,024/],
  ["claims", tokenOf({ sub: "a\0" }), /cannot be stored$/, /NUL/],
  ["claims", tokenOf({ exp: undefined }), /^exp is missing$/, /in seconds/],
  ["claims", tokenOf({ exp: "soon" }), /^exp is not a number$/, /in seconds/],
  ["claims", tokenOf({ exp: NOW + 25 * HOUR }), /^exp is 25 h ahead/, /24 hours ahead/],
  ["claims", tokenOf({ exp: (NOW + HOUR) * 1_000 }), /^exp is \d+ days ahead/, /in seconds/],
  ["claims", tokenOf({ nbf: NOW + 600 }), /^nbf is 10 min ahead of the edge's clock, and clocks may.* 30 s$/, /NTP/],
  ["claims", tokenOf({ iat: NOW + 45 }), /^iat is 45 s ahead/, /NTP/],
  ["claims", tokenOf({ iat: "now" }), /^iat is not a number$/, /leave it out/],
  ["claims", tokenOf({ sub: 42, nbf: NOW + 600 }), /^sub is not text; nbf is 10 min ahead/, /text.*; .*NTP$/],
  ["claims", tokenOf({ metadata: [] }), /metadata is not an object/, /visitor_metadata/],
])("explains the refusal %s of %s", (result, token, message, fix) => {
  const finding = explain(result, token);
  expect(finding).toMatchObject({ check: "visitor_token", result: "fail", fix: expect.stringMatching(fix) });
  expect(finding.message.replace(/^refused: /, "")).toMatch(message);
  expect(JSON.stringify(finding)).not.toContain("private-name");
});

test("explains a body that the edge refuses because the token makes it too large", () => {
  const finding = explainVisitorToken({ status: 413, isStream: false, meta: undefined }, "x".repeat(9_000));
  expect(finding).toMatchObject({ result: "fail", message: expect.stringContaining("it has 9,000 characters") });
});

test.each([
  [{ status: 429, isStream: false, meta: undefined }, /status 429/],
  [{ status: 200, isStream: true, meta: undefined }, /did not start/],
  [{ status: 200, isStream: true, meta: { server_time: SERVER_TIME } }, /upgrade Parley/],
])("warns that the token was not checked by the response %j", (response, message) => {
  expect(explainVisitorToken(response, tokenOf())).toMatchObject({
    result: "warn",
    message: expect.stringMatching(message),
  });
});
