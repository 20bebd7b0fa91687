import { type Answer, headerOf } from "./exchange.ts";
import { type Finding, fail } from "./finding.ts";

type Refused = Pick<Answer, "status" | "headers"> & { refusal: string };

/** Why the paced stream was not given, and by whom: Parley says so in JSON, a proxy in its own way. */
export function explainRefusal(refused: Refused, origin: string): Finding {
  const { status } = refused;
  const code = errorCode(refused.refusal);
  const say = (message: string, mend: string) => fail("access", message, { mend });
  switch (code) {
    case "invalid_api_key":
      return say("the public key is revoked or was never made", "parley key list --workspace W shows those there are");
    case "origin_not_allowed":
      return say(
        `${origin} is not one of the key's allowed domains`,
        `give an --origin that is, or make a key that allows it: parley key create … --domain ${hostIn(origin)}`,
      );
    case "rate_limited":
      return say(
        "this address has made its 60 requests of the minute",
        `try again in ${headerOf(refused, "retry-after") || "60"} s`,
      );
    case "not_found":
      return say("this Parley knows no doctor: it is an older version", "upgrade it to the version of this command");
    case "unavailable":
    case "overloaded":
      return say(
        code === "overloaded" ? "too many streams are open" : "Parley answers that a part of it is away",
        "parley top shows the services and their streams; their logs say why",
      );
    case undefined:
      return fail("access", ...foreign(refused));
    default:
      return say(`Parley refused: ${status} ${code}`, "see that this command and the service are of one version");
  }
}

function foreign(refused: Refused): [message: string, how: { mend: string }] {
  const { status } = refused;
  if (status >= 300 && status < 400) {
    const to = headerOf(refused, "location");
    return [
      `${status}: redirected to ${to}`,
      { mend: "give that address; browsers do not follow a redirected preflight" },
    ];
  }
  if (status === 502 || status === 503 || status === 504)
    return [
      `${status} of the proxy: it does not reach the edge`,
      { mend: "see that the edge is ready (/healthz/ready), and that the proxy's backend names its public port" },
    ];
  if (status === 404)
    return ["404, and not from Parley", { mend: "lead the whole host, or /api/, to the edge's public port" }];
  if (status === 403 || status === 401)
    return [
      `${status}, and not from Parley: something in between refuses it`,
      { mend: "let /api/ through its access rules or web application firewall" },
    ];
  return [`${status}, and not from Parley`, { mend: "see that the URL leads to the edge's public port" }];
}

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
