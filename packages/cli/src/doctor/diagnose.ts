import { shakeHands } from "./certificate.ts";
import { FORGED_HEADERS, isPrivate, judgeAddress, judgeForgery } from "./client-address.ts";
import { judgeClock } from "./clock.ts";
import { judgeCors } from "./cors.ts";
import type { Door } from "./exchange.ts";
import { CHECKS, type Finding, fail, pass, warn } from "./finding.ts";
import { type PacedRun, runPaced } from "./paced-run.ts";
import { type ProxyKind, recognise } from "./proxies.ts";
import { codeOf, hostOf, reach } from "./reach.ts";
import { explainRefusal } from "./refusal.ts";
import { judgeBuffering, judgeCompression, judgeSilence, type Pace, paceOf } from "./streaming.ts";

export type Question = {
  url: URL;
  publicKey: string;
  origin: string;
  /** Undefined leaves the silence out. */
  silenceMs: number | undefined;
  /** A proxy the caller knows of. */
  proxy: ProxyKind | undefined;
  progress: (line: string) => void;
};

export type Diagnosis = {
  findings: Finding[];
  /** Who stands between, as far as it shows. */
  proxies: ProxyKind[];
  /** Undefined when no stream was had. */
  pace: Pace | undefined;
};

/** Goes through the public door of a Parley as a visitor's browser does, and judges what stands between. */
export async function diagnose(question: Question): Promise<Diagnosis> {
  const { url, progress } = question;
  const findings: Finding[] = [];
  const told = (proxies: ProxyKind[], pace?: Pace): Diagnosis => ({ findings: sorted(findings), proxies, pace });

  progress(`connecting to ${url.host} …`);
  const reached = await reach(url);
  findings.push(...reached.findings);
  if (!reached.open) return told(known(question));
  const door: Door = { url, http2: false };
  if (url.protocol === "https:") {
    const handshake = await shakeHands(url, Date.now());
    findings.push(handshake.finding);
    if (!handshake.done) return told(known(question));
    door.http2 = handshake.http2;
  } else findings.push(withoutTls(url));

  const streams = await stream(door, question);
  if (!Array.isArray(streams)) {
    findings.push(streams);
    return told(known(question));
  }
  const [paced, forged, silent] = streams;
  const proxies = [...new Set([...known(question), ...recognise(paced, paced.meta?.forwarded_headers ?? [])])];
  findings.push(await judgeCors(door, question.publicKey, question.origin));
  if (paced.status !== 200 || paced.refusal !== "") {
    findings.push(explainRefusal(paced, question.origin));
    return told(proxies);
  }
  findings.push(
    pass("access", `the key is good and ${question.origin} may use it`),
    judgeHttpVersion(door, paced),
    judgeBuffering(paced),
    judgeCompression(paced),
    judgeAddress(paced),
    judgeForgery(paced, forged),
    judgeClock(paced),
  );
  if (silent !== undefined) findings.push(judgeSilence(silent));
  return told(proxies, paceOf(paced.ticks));
}

/** The three streams, side by side; why there is none when not even an answer came. */
async function stream(door: Door, question: Question): Promise<[PacedRun, PacedRun, PacedRun | undefined] | Finding> {
  const { publicKey, origin, silenceMs, progress } = question;
  const seconds = silenceMs === undefined ? "" : `, and a silence of ${silenceMs / 1_000} s`;
  progress(`streaming paced events${seconds} …`);
  const run = (silence: number, headers = {}) => runPaced(door, { publicKey, origin, silenceMs: silence, headers });
  try {
    return await Promise.all([run(0), run(0, FORGED_HEADERS), silenceMs === undefined ? undefined : run(silenceMs)]);
  } catch (error) {
    const code = codeOf(error);
    const what = code === "TIMEOUT" ? "no answer came in time" : `the connection broke before an answer (${code})`;
    return fail("access", what, {
      mend: "see that the proxy's backend names the edge's public port, and that https and http are not mixed up",
    });
  }
}

function withoutTls(url: URL): Finding {
  const host = hostOf(url);
  if (host === "localhost" || (isAddress(host) && isPrivate(host)))
    return pass("certificate", "no TLS, which does on a machine or network of one's own");
  return warn("certificate", "no TLS: a page that came over https may not call it", {
    mend: "end TLS at the proxy or load balancer, and give the https URL",
  });
}

const isAddress = (host: string) => /^[\d.]+$|:/.test(host);

function judgeHttpVersion({ url, http2 }: Door, paced: PacedRun): Finding {
  const inner = paced.meta?.http_version === "1.0" ? "; HTTP/1.0 from the last proxy to the edge" : "";
  if (http2) return pass("http_version", `HTTP/2${inner}`);
  if (url.protocol === "http:") return pass("http_version", `HTTP/1.1, as it is without TLS${inner}`);
  return warn(
    "http_version",
    `HTTP/1.1${inner}: a browser opens six connections to a host, and each stream takes one`,
    {
      ailment: "http1",
    },
  );
}

function known({ proxy }: Question): ProxyKind[] {
  return proxy === undefined ? [] : [proxy];
}

function sorted(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => CHECKS.indexOf(a.check) - CHECKS.indexOf(b.check));
}
