import { type Finding, fail } from "./finding.ts";
import { type EndpointResponse, readHeader } from "./http-request.ts";

type RefusedResponse = Pick<EndpointResponse, "status" | "headers"> & { bodyStart: string };

/** Explains why the doctor's request for a test stream was refused. Parley refuses with a JSON error code; any other body comes from a proxy. */
export function explainRefusal(refused: RefusedResponse, origin: string): Finding {
  const { status } = refused;
  const code = errorCode(refused.bodyStart);
  const explain = (message: string, fix: string) => fail("access", message, { fix });
  switch (code) {
    case "invalid_api_key":
      return explain("the public key is revoked or unknown", "list keys with parley key list --workspace W");
    case "origin_not_allowed":
      return explain(
        `${origin} is not one of the key's allowed domains`,
        `use an allowed --origin, or create a key that allows it: parley key create … --domain ${hostIn(origin)}`,
      );
    case "rate_limited":
      return explain(
        "this address has sent too many requests in this minute",
        `try again in ${readHeader(refused, "retry-after") || "60"} s`,
      );
    case "not_found":
      return explain("this version of Parley has no doctor endpoint", "upgrade Parley to the version of this CLI");
    case "unavailable":
    case "overloaded":
      return explain(
        code === "overloaded" ? "too many streams are open" : "a service of Parley is unavailable",
        "check the services and their streams with parley top, then their logs",
      );
    case undefined:
      return fail("access", ...proxyRefusal(refused));
    default:
      return explain(`Parley refused: ${status} ${code}`, "use the same version of the CLI and the service");
  }
}

function proxyRefusal(refused: RefusedResponse): [message: string, advice: { fix: string }] {
  const { status } = refused;
  if (status >= 300 && status < 400) {
    const to = readHeader(refused, "location");
    return [`${status}: redirected to ${to}`, { fix: "use that URL; browsers do not follow a redirected preflight" }];
  }
  if (status === 502 || status === 503 || status === 504)
    return [
      `the proxy returned ${status}: it cannot reach the edge`,
      { fix: "check that the edge is ready (/healthz/ready) and that the proxy's backend is the edge's public port" },
    ];
  if (status === 404)
    return ["404, but not from Parley", { fix: "route the whole host, or /api/, to the edge's public port" }];
  if (status === 403 || status === 401)
    return [
      `a proxy or firewall returned ${status}`,
      { fix: "allow /api/ in its access rules or web application firewall" },
    ];
  return [`${status}, but not from Parley`, { fix: "check that the URL leads to the edge's public port" }];
}

/** Returns undefined if the body is not Parley's. */
function errorCode(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "string" ? error : undefined;
  } catch {
    return undefined;
  }
}

function hostIn(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : origin;
}
