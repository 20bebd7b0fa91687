import { type Answer, type Door, exchange, headerOf, headersOf } from "./exchange.ts";
import { type Finding, fail, pass } from "./finding.ts";

/** No page is ever served from here (RFC 6761). */
const ELSEWHERE = "https://parley-doctor.invalid";
const TIMEOUT_MS = 15_000;

type Problem = { problem: string; ailment: "cors" | "cache" };

/** Whether a page of `origin` can read what it is answered, and no cache answers one origin with another's headers. */
export async function judgeCors(door: Door, publicKey: string, origin: string): Promise<Finding> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const config = (from: string) =>
    quiet(
      exchange(door, {
        method: "GET",
        path: `/api/widget/config/?public_key=${encodeURIComponent(publicKey)}`,
        headers: { origin: from },
        signal,
      }),
    );
  const preflight = await quiet(
    exchange(door, {
      method: "OPTIONS",
      path: "/api/chat/",
      headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type" },
      signal,
    }),
  );
  // One after the other: a cache that mistakes one for the other must have had the first.
  const own = await config(origin);
  const foreign = await config(ELSEWHERE);
  const [first, ...more] = [
    ...preflightProblems(preflight, origin),
    ...allowProblems("the configuration", own, origin),
    ...varyProblems(own),
    ...crossedProblems(foreign, origin),
  ];
  if (first === undefined)
    return pass("cors", "the preflight and the answers let the page read them, each origin its own");
  const message = [first, ...more].map(({ problem }) => problem).join("; ");
  return fail("cors", message, { ailment: first.ailment });
}

type Read = Pick<Answer, "status" | "headers">;

/** An answer whose body nobody reads; a failure is an answer of status 0. */
async function quiet(pending: Promise<Answer>): Promise<Read> {
  try {
    const { status, headers, body } = await pending;
    body.on("error", () => undefined).resume();
    return { status, headers };
  } catch {
    return { status: 0, headers: [] };
  }
}

function preflightProblems(answer: Read, origin: string): Problem[] {
  if (answer.status !== 204 && answer.status !== 200)
    return [{ problem: `the preflight is answered with ${answer.status || "nothing"}`, ailment: "cors" }];
  const methods = headerOf(answer, "access-control-allow-methods").toUpperCase();
  const headers = headerOf(answer, "access-control-allow-headers").toLowerCase();
  return [
    ...allowProblems("the preflight", answer, origin),
    ...(/\bPOST\b/.test(methods) ? [] : [problem("the preflight does not allow POST")]),
    ...(/\bcontent-type\b/.test(headers) ? [] : [problem("the preflight does not allow Content-Type")]),
  ];
}

function allowProblems(what: string, answer: Read, origin: string): Problem[] {
  const allowed = headersOf(answer, "access-control-allow-origin");
  if (allowed.length > 1)
    return [problem(`${what} comes with Access-Control-Allow-Origin ${allowed.length} times: browsers refuse that`)];
  if (allowed[0] === origin || (allowed[0] === "*" && what === "the preflight")) return [];
  return [problem(`${what} allows ${allowed[0] === undefined ? "no origin" : allowed[0]}, not ${origin}`)];
}

function varyProblems(answer: Read): Problem[] {
  if (/(^|[\s,])(origin|\*)(?=$|[\s,])/i.test(headerOf(answer, "vary"))) return [];
  return [{ problem: "Vary: Origin is lost on the way: a cache would mix origins up", ailment: "cache" }];
}

function crossedProblems(foreign: Read, origin: string): Problem[] {
  if (!headersOf(foreign, "access-control-allow-origin").includes(origin)) return [];
  return [{ problem: `a cache answers another origin with what ${origin} was answered`, ailment: "cache" }];
}

const problem = (text: string): Problem => ({ problem: text, ailment: "cors" });
