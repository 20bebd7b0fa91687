import { checkCertificate } from "./certificate.ts";
import { checkClientAddress, checkForgedAddress, FORGED_HEADERS, isPrivate } from "./client-address.ts";
import { checkClock } from "./clock.ts";
import { checkCors } from "./cors.ts";
import { CHECKS, type Finding, fail, pass, warn } from "./finding.ts";
import type { Endpoint } from "./http-request.ts";
import { type PacedRun, runPaced, type UnansweredRun } from "./paced-run.ts";
import { detectProxies, type ProxyKind } from "./proxies.ts";
import { checkReachability, codeOf, hostOf } from "./reachability.ts";
import { explainRefusal } from "./refusal.ts";
import { checkBuffering, checkCompression, checkSilence, measurePace, type Pace } from "./stream-checks.ts";
import { checkVisitorToken, notChecked } from "./visitor-token.ts";

export type DiagnoseRequest = {
  url: URL;
  publicKey: string;
  origin: string;
  /** How long one stream stays silent, to find a proxy's idle timeout; undefined to skip this check. */
  silenceMs: number | undefined;
  /** A proxy that the user named. */
  proxy: ProxyKind | undefined;
  /** A token to check; undefined to check none. */
  visitorToken: string | undefined;
  progress: (line: string) => void;
};

export type Diagnosis = {
  findings: Finding[];
  proxies: ProxyKind[];
  /** Undefined if no stream was received. */
  pace: Pace | undefined;
};

/** Sends requests through the public URL as a visitor's browser does, and checks what proxies do to them. */
export async function diagnose(request: DiagnoseRequest): Promise<Diagnosis> {
  const { url, progress } = request;
  const findings: Finding[] = [];
  const toDiagnosis = (proxies: ProxyKind[], pace?: Pace): Diagnosis => ({
    findings: sortForReport(findings),
    proxies,
    pace,
  });

  progress(`connecting to ${url.host} …`);
  const reachability = await checkReachability(url);
  findings.push(...reachability.findings);
  if (!reachability.isOpen) return toDiagnosis(namedProxies(request));
  const endpoint: Endpoint = { url, http2: false };
  if (url.protocol === "https:") {
    const handshake = await checkCertificate(url, Date.now());
    findings.push(handshake.finding);
    if (!handshake.hasSucceeded) return toDiagnosis(namedProxies(request));
    endpoint.http2 = handshake.isHttp2;
  } else findings.push(checkMissingTls(url));

  const [plain, forged, silent] = await runStreams(endpoint, request);
  // A run that sent no forged headers and got a response.
  const unforged = [plain, silent].find((run): run is PacedRun => run !== undefined && !("errorCode" in run));
  if (unforged === undefined) {
    findings.push(checkAccess(plain, unforged, forged, request.origin));
    return toDiagnosis(namedProxies(request));
  }
  const proxies = [
    ...new Set([...namedProxies(request), ...detectProxies(unforged, unforged.meta?.forwarded_headers ?? [])]),
  ];
  findings.push(await checkCors(endpoint, request.publicKey, request.origin));
  if (!unforged.isStream) {
    findings.push(explainRefusal(unforged, request.origin));
    return toDiagnosis(proxies);
  }
  findings.push(
    checkAccess(plain, unforged, forged, request.origin),
    checkHttpVersion(endpoint, unforged),
    checkBuffering(unforged),
    checkCompression(unforged),
    checkClientAddress(unforged),
    checkForgedAddress(unforged, forged),
    checkClock(unforged),
  );
  if (silent !== undefined) findings.push(checkSilence(silent));
  if (request.visitorToken !== undefined) {
    const { publicKey, origin, visitorToken } = request;
    findings.push(
      maySendToken(url, findings)
        ? await checkVisitorToken(endpoint, { publicKey, origin, visitorToken })
        : notChecked("the token is not sent to a server without a valid certificate"),
    );
  }
  return toDiagnosis(proxies, measurePace(unforged.ticks));
}

/** Whether the server's certificate is valid or, without TLS, whether the server is on a local machine or network. */
function maySendToken({ protocol }: URL, findings: readonly Finding[]): boolean {
  // A certificate that expires soon, and a server elsewhere without TLS, are warnings.
  const insecure = protocol === "https:" ? "fail" : "warn";
  return !findings.some(({ check, result }) => check === "certificate" && result === insecure);
}

/** Runs the streams concurrently: a plain one, one with forged addresses and, unless skipped, one with a silence. */
function runStreams(
  endpoint: Endpoint,
  request: DiagnoseRequest,
): Promise<[PacedRun | UnansweredRun, PacedRun | UnansweredRun, PacedRun | UnansweredRun | undefined]> {
  const { publicKey, origin, silenceMs, progress } = request;
  const silence = silenceMs === undefined ? "" : `, with a silence of ${silenceMs / 1_000} s`;
  progress(`streaming paced events${silence} …`);
  const run = (ms: number, headers = {}): Promise<PacedRun | UnansweredRun> =>
    runPaced(endpoint, { publicKey, origin, silenceMs: ms, headers }).catch((error) => ({ errorCode: codeOf(error) }));
  return Promise.all([run(0), run(0, FORGED_HEADERS), silenceMs === undefined ? undefined : run(silenceMs)]);
}

/** Checks whether the plain request got a response. `unforged` is the plain run or the silent run; undefined if neither got a response. */
function checkAccess(
  plain: PacedRun | UnansweredRun,
  unforged: PacedRun | undefined,
  forged: PacedRun | UnansweredRun,
  origin: string,
): Finding {
  if (!("errorCode" in plain)) return pass("access", `the key is valid and allows ${origin}`);
  const code = plain.errorCode;
  if (unforged !== undefined || !("errorCode" in forged)) {
    // Fails if only the request with the forged address got a response, because the other checks were then skipped.
    const report = unforged === undefined ? fail : warn;
    return report("access", `one request got no response (${code}), another one did`, {
      fix: "run the command again; if the result is the same, check each of the proxy's backends",
    });
  }
  const problem = code === "TIMEOUT" ? "no response in time" : `the connection broke before a response (${code})`;
  return fail("access", problem, {
    fix: "check that the proxy's backend is the edge's public port, with the right protocol (http or https)",
  });
}

function checkMissingTls(url: URL): Finding {
  const host = hostOf(url);
  if (host === "localhost" || (isAddress(host) && isPrivate(host)))
    return pass("certificate", "no TLS, which is acceptable on a local machine or network");
  return warn("certificate", "no TLS: browsers block calls from https pages to this URL", {
    fix: "terminate TLS at the proxy or load balancer and use the https URL",
  });
}

const isAddress = (host: string) => /^[\d.]+$|:/.test(host);

function checkHttpVersion({ url, http2 }: Endpoint, run: PacedRun): Finding {
  const lastHop = run.meta?.http_version === "1.0" ? "; HTTP/1.0 from the last proxy to the edge" : "";
  if (http2) return pass("http_version", `HTTP/2${lastHop}`);
  if (url.protocol === "http:") return pass("http_version", `HTTP/1.1, as expected without TLS${lastHop}`);
  return warn(
    "http_version",
    `HTTP/1.1${lastHop}: browsers open at most six connections per host, and each stream uses one`,
    {
      cause: "http1",
    },
  );
}

function namedProxies({ proxy }: DiagnoseRequest): ProxyKind[] {
  return proxy === undefined ? [] : [proxy];
}

function sortForReport(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => CHECKS.indexOf(a.check) - CHECKS.indexOf(b.check));
}
