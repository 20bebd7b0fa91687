import { isLongerThan } from "@parley/rpc/formats";
import {
  CLOCK_SKEW_SECONDS,
  MAX_LIFETIME_SECONDS,
  MAX_TOKEN_CHARACTERS,
  MAX_VISITOR_ID_CHARACTERS,
} from "@parley/service-kit/visitor-token";
import { formatCount } from "../output/table.ts";
import { type Finding, fail, pass, warn } from "./finding.ts";
import type { Endpoint } from "./http-request.ts";
import { type PacedRequest, type PacedRun, runPaced } from "./paced-run.ts";
import { codeOf } from "./reachability.ts";

export type VisitorTokenRequest = Pick<PacedRequest, "publicKey" | "origin"> & { visitorToken: string };

/** Sends a visitor token to the edge, only over a verified connection. Explains the edge's result without the token, its `sub` or its metadata. */
export async function checkVisitorToken(endpoint: Endpoint, request: VisitorTokenRequest): Promise<Finding> {
  try {
    return explainVisitorToken(await runPaced(endpoint, { ...request, silenceMs: 0 }), request.visitorToken);
  } catch (error) {
    return notChecked(`the request got no response (${codeOf(error)})`);
  }
}

export function notChecked(reason: string): Finding {
  return warn("visitor_token", `not checked: ${reason}`);
}

type TokenResponse = Pick<PacedRun, "status" | "isStream"> & {
  meta: { server_time: string; visitor_token?: string } | undefined;
};

/** Explains the edge's result for a token, with the token's claims and the edge's clock. */
export function explainVisitorToken({ status, isStream, meta }: TokenResponse, token: string): Finding {
  // 413: the token is longer than the largest body.
  if (token.length > MAX_TOKEN_CHARACTERS && (status === 413 || meta?.visitor_token === "malformed"))
    return refused(
      `it has ${formatCount(token.length, "character")}, more than ${formatCount(MAX_TOKEN_CHARACTERS, "character")}`,
      "shorten its metadata and sub",
    );
  if (!isStream) return notChecked(`the request was refused with status ${status}`);
  if (meta === undefined) return notChecked("the stream did not start");
  const nowSeconds = Date.parse(meta.server_time) / 1_000;
  const { header, claims } = readToken(token);
  switch (meta.visitor_token) {
    case "accepted":
      return pass("visitor_token", `accepted; it expires in ${formatSeconds(Number(claims?.exp) - nowSeconds)}`);
    case "expired":
      return refused(
        `it expired ${formatSeconds(nowSeconds - Number(claims?.exp))} ago by the edge's clock`,
        "let the page ask the backend for a token when it sends a message; if the backend signs tokens that have expired already, synchronise its clock with NTP",
      );
    case "kid":
      return explainUnknownKey(header);
    case "signature":
      return refused(
        header?.kid === undefined
          ? "no identity key of the workspace verifies its signature"
          : `the identity key ${quote(header.kid)} does not verify its signature`,
        "sign it with a key of the public key's workspace; an HS256 secret is the whole text parley_visitor_…, not decoded",
      );
    case "claims":
      return explainClaims(claims ?? {}, nowSeconds);
    case "malformed":
      return explainMalformed(header, claims);
    default:
      return notChecked("the edge does not check visitor tokens: upgrade Parley to the version of this CLI");
  }
}

function refused(message: string, fix: string): Finding {
  return fail("visitor_token", `refused: ${message}`, { fix });
}

type Fields = Record<string, unknown>;

/** Reads a token without verifying it. Both results are undefined unless it has three parts in base64url, as is each part that is no JSON object. */
function readToken(token: string): { header: Fields | undefined; claims: Fields | undefined } {
  const [, header = "", claims = ""] = /^([\w-]*)\.([\w-]*)\.[\w-]*$/.exec(token) ?? [];
  return { header: readPart(header), claims: readPart(claims) };
}

function readPart(part: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString());
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

function explainUnknownKey({ kid, alg }: Fields = {}): Finding {
  const fix =
    "compare the header with parley identity-key list --workspace W; a key applies 5 s after its creation, and a revoked key no longer";
  if (kid !== undefined) return refused(`the workspace has no identity key with the kid ${quote(kid)}`, fix);
  return refused(`the workspace has no identity key for the alg ${quote(alg)}`, fix);
}

function explainMalformed(header: Fields | undefined, claims: Fields | undefined): Finding {
  if (header === undefined || claims === undefined)
    return refused(
      "it is not a signed JWT: three parts in base64url with dots between them, the first two of them JSON objects",
      "check that the file has the whole token and nothing else",
    );
  const { kid, alg } = header;
  // Without a kid, the edge tries only the keys of the token's alg.
  if (kid !== undefined && header.crit === undefined)
    return refused(
      `its alg ${quote(alg)} is not the algorithm of the identity key ${quote(kid)}`,
      "sign it with the algorithm that parley identity-key list --workspace W shows for this kid",
    );
  return refused("its header or signature is not that of a signed JWT", "sign it as docs/visitors.md shows");
}

function explainClaims(claims: Fields, nowSeconds: number): Finding {
  const problems = [
    ...subProblems(claims.sub),
    ...expProblems(claims.exp, nowSeconds),
    ...startProblems("nbf", claims.nbf, nowSeconds),
    ...startProblems("iat", claims.iat, nowSeconds),
  ];
  // The edge does not say which claim it refuses. Of the claims that it checks, only metadata is left.
  const [first, ...more] =
    problems.length > 0
      ? problems
      : [{ problem: "its metadata is not an object within the limits", fix: "see visitor_metadata in docs/api.md" }];
  const all = [first as Problem, ...more];
  return refused(all.map(({ problem }) => problem).join("; "), [...new Set(all.map(({ fix }) => fix))].join("; "));
}

type Problem = { problem: string; fix: string };

function subProblems(sub: unknown): Problem[] {
  const fix = `set sub to your own id of the visitor, as text of 1 to ${formatCount(MAX_VISITOR_ID_CHARACTERS, "character")}`;
  if (sub === undefined) return [{ problem: "sub is missing", fix }];
  if (typeof sub !== "string") return [{ problem: "sub is not text", fix }];
  if (sub === "") return [{ problem: "sub is empty", fix }];
  if (isLongerThan(sub, MAX_VISITOR_ID_CHARACTERS)) return [{ problem: "sub is too long", fix }];
  if (sub.includes("\0") || !sub.isWellFormed())
    return [{ problem: "sub has a character that cannot be stored", fix: `${fix}, without NUL or half a surrogate` }];
  return [];
}

function expProblems(exp: unknown, nowSeconds: number): Problem[] {
  const fix = `set exp to a Unix time in seconds, at most ${MAX_LIFETIME_SECONDS / 3_600} hours ahead`;
  if (exp === undefined) return [{ problem: "exp is missing", fix }];
  if (typeof exp !== "number") return [{ problem: "exp is not a number", fix }];
  const aheadSeconds = exp - nowSeconds;
  if (aheadSeconds <= MAX_LIFETIME_SECONDS + CLOCK_SKEW_SECONDS) return [];
  return [{ problem: `exp is ${formatSeconds(aheadSeconds)} ahead of the edge's clock`, fix }];
}

function startProblems(claim: "nbf" | "iat", time: unknown, nowSeconds: number): Problem[] {
  if (time === undefined) return [];
  if (typeof time !== "number")
    return [{ problem: `${claim} is not a number`, fix: `set ${claim} to a Unix time in seconds, or leave it out` }];
  const aheadSeconds = time - nowSeconds;
  if (aheadSeconds <= CLOCK_SKEW_SECONDS) return [];
  return [
    {
      problem: `${claim} is ${formatSeconds(aheadSeconds)} ahead of the edge's clock, and clocks may differ by ${CLOCK_SKEW_SECONDS} s`,
      fix: "synchronise the backend's clock with NTP",
    },
  ];
}

function quote(value: unknown): string {
  return value === undefined ? "(none)" : JSON.stringify(value);
}

/** Formats in the largest unit of which there are at least two. */
function formatSeconds(seconds: number): string {
  for (const [unit, length] of [
    ["days", 86_400],
    ["h", 3_600],
    ["min", 60],
  ] as const)
    if (seconds >= 2 * length) return `${Math.floor(seconds / length)} ${unit}`;
  return `${Math.max(0, Math.floor(seconds))} s`;
}
