import { type Finding, fail, pass } from "./finding.ts";
import { type Endpoint, type EndpointResponse, readHeader, readHeaderValues, sendRequest } from "./http-request.ts";

/** An origin that cannot exist (RFC 6761). */
const FOREIGN_ORIGIN = "https://parley-doctor.invalid";
const TIMEOUT_MS = 15_000;

type Problem = { problem: string; cause: "cors" | "cache" };

/** Checks that pages of `origin` may read responses and that no cache serves one origin's headers to another. */
export async function checkCors(endpoint: Endpoint, publicKey: string, origin: string): Promise<Finding> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const requestConfig = (from: string) =>
    readHead(
      sendRequest(endpoint, {
        method: "GET",
        path: `/api/widget/config/?public_key=${encodeURIComponent(publicKey)}`,
        headers: { origin: from },
        signal,
      }),
    );
  const preflight = await readHead(
    sendRequest(endpoint, {
      method: "OPTIONS",
      path: "/api/chat/",
      headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type" },
      signal,
    }),
  );
  // Sequential, so that a cache has stored the first response before the second request.
  const own = await requestConfig(origin);
  const foreign = await requestConfig(FOREIGN_ORIGIN);
  const [first, ...more] = [
    ...preflightProblems(preflight, origin),
    ...configurationProblems(own, origin),
    ...sharedCacheProblems(foreign, origin),
  ];
  if (first === undefined) return pass("cors", "the preflight and responses allow this origin");
  const message = [first, ...more].map(({ problem }) => problem).join("; ");
  return fail("cors", message, { cause: first.cause });
}

type ResponseHead = Pick<EndpointResponse, "status" | "headers">;

/** Discards the body. If the request fails, the status is 0. */
async function readHead(pending: Promise<EndpointResponse>): Promise<ResponseHead> {
  try {
    const { status, headers, body } = await pending;
    body.on("error", () => undefined).resume();
    return { status, headers };
  } catch {
    return { status: 0, headers: [] };
  }
}

function preflightProblems(response: ResponseHead, origin: string): Problem[] {
  if (response.status !== 204 && response.status !== 200)
    return [problem(`the preflight got ${describeStatus(response)}`)];
  const methods = readHeader(response, "access-control-allow-methods").toUpperCase();
  const headers = readHeader(response, "access-control-allow-headers").toLowerCase();
  return [
    ...allowOriginProblems("the preflight", response, origin),
    ...(/\bPOST\b/.test(methods) ? [] : [problem("the preflight does not allow POST")]),
    ...(/\bcontent-type\b/.test(headers) ? [] : [problem("the preflight does not allow Content-Type")]),
  ];
}

function configurationProblems(response: ResponseHead, origin: string): Problem[] {
  // A refusal by the edge has the CORS headers too. Without them, something in front of the edge sent the response.
  if (response.status !== 200 && readHeader(response, "access-control-allow-origin") === "")
    return [problem(`the widget configuration got ${describeStatus(response)}`)];
  return [...allowOriginProblems("the widget configuration response", response, origin), ...varyProblems(response)];
}

function describeStatus({ status }: ResponseHead): string {
  return status === 0 ? "no response" : `status ${status}`;
}

function allowOriginProblems(what: string, response: ResponseHead, origin: string): Problem[] {
  const allowed = readHeaderValues(response, "access-control-allow-origin");
  if (allowed.length > 1)
    return [problem(`${what} has ${allowed.length} Access-Control-Allow-Origin headers, which browsers reject`)];
  if (allowed[0] === origin || (allowed[0] === "*" && what === "the preflight")) return [];
  return [problem(`${what} must allow ${origin}, but allows ${allowed[0] === undefined ? "no origin" : allowed[0]}`)];
}

function varyProblems(response: ResponseHead): Problem[] {
  if (/(^|[\s,])(origin|\*)(?=$|[\s,])/i.test(readHeader(response, "vary"))) return [];
  return [{ problem: "a proxy removes Vary: Origin, so a cache may mix up origins", cause: "cache" }];
}

function sharedCacheProblems(foreign: ResponseHead, origin: string): Problem[] {
  if (!readHeaderValues(foreign, "access-control-allow-origin").includes(origin)) return [];
  return [{ problem: `a cache serves the response for ${origin} to another origin`, cause: "cache" }];
}

const problem = (text: string): Problem => ({ problem: text, cause: "cors" });
