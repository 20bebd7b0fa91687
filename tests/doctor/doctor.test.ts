import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { describeWith, freePort } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type CliResult, runCliInChildProcess, runCliInProcess } from "../system/cli.ts";
import { root } from "../system/processes.ts";
import { joinSharedSystem, type SharedSystem } from "../system/shared-system.ts";
import { createTenant, type Tenant } from "../system/system.ts";
import { signVisitorToken } from "../system/visitors.ts";
import { type Certificates, createCertificates } from "./certificates.ts";
import { type Proxies, type ServerName, startProxies } from "./proxies.ts";
import { argumentsOf, findingOf, type Report, runDoctor } from "./report.ts";

const CLOCK_SKEW_MS = "-120000";

describeWith("nginx", "parley doctor", () => {
  let system: SharedSystem;
  let proxies: Proxies;
  let tenant: Tenant;
  let certificates: Certificates;
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "parley-doctor-"));
    system = await joinSharedSystem();
    [tenant, certificates] = await Promise.all([createTenant(system.admin), createCertificates(directory)]);
    // The tests run the doctor many times a minute from one address.
    const trusting = { TRUSTED_PROXIES: "127.0.0.2", EDGE_DOCTOR_REQUESTS: "500" };
    const skewed = { NODE_OPTIONS: `--import ${root}tests/system/faults/skewed-clock.ts`, CLOCK_SKEW_MS };
    const good = await system.startEdge(trusting);
    const [trustingAll, clockBehind] = await Promise.all([
      system.startEdge({ ...trusting, TRUSTED_PROXIES: "0.0.0.0/1,128.0.0.0/1" }),
      system.startEdge({ ...trusting, ...skewed }),
    ]);
    proxies = await startProxies(
      { good: good.port, trustingAll: trustingAll.port, clockBehind: clockBehind.port },
      certificates,
    );
  });
  afterAll(async () => {
    await proxies.stop();
    await system.stop();
    await rm(directory, { recursive: true });
  });

  /** Runs `parley doctor` in its own process. */
  function runInOwnProcess(url: string, ...more: string[]): Promise<CliResult> {
    return runCliInChildProcess(argumentsOf(tenant, url, ...more), { NODE_EXTRA_CA_CERTS: certificates.authority });
  }

  /** Runs `parley doctor` in this process, which trusts the test authority only in the describe block "faults and output". */
  const runInThisProcess = (url: string, ...more: string[]) => runDoctor(argumentsOf(tenant, url, ...more));

  const notPassed = ({ findings }: Report) => findings.filter(({ result }) => result !== "pass");

  test("passes every check, including the idle timeout of a silent stream, behind a correct nginx with HTTP/2 and TLS", async () => {
    // Retries, because on a busy machine events may arrive together. The doctor reports that as buffering.
    await vi.waitFor(
      async () => {
        const { code, stdout } = await runInOwnProcess(proxies.url("healthyTls"), "--silence", "2", "--json");
        const healthy = JSON.parse(stdout) as Report;
        expect(notPassed(healthy)).toEqual([]);
        expect({ code, ...healthy }).toMatchObject({ code: 0, verdict: "pass", proxies: ["nginx"] });
        expect(findingOf(healthy, "http_version")?.message).toBe("HTTP/2");
        expect(findingOf(healthy, "idle_timeout")?.message).toContain("2 s");
      },
      { timeout: 45_000 },
    );
  });

  describe.concurrent("faults and output", () => {
    const trusted = getCACertificates("default");
    beforeAll(async () => {
      setDefaultCACertificates([...trusted, await readFile(certificates.authority, "utf8")]);
    });
    afterAll(() => setDefaultCACertificates(trusted));

    /** `more` replaces the argument `--quick`. */
    const faults: [fault: ServerName, check: string, result: string, message: RegExp, fix: RegExp, more?: string[]][] =
      [
        [
          "buffering",
          "buffering",
          "fail",
          /1\d of 1\d events arrived together with the previous one/,
          /proxy_buffering off;.*X-Accel-Buffering/,
        ],
        ["compressing", "compression", "fail", /compressed \(gzip\)/, /gzip off;/],
        [
          "shortTimeout",
          "idle_timeout",
          "fail",
          /cut off [012]\.\d s into a silence of 4 s/,
          /proxy_read_timeout 420s;/,
          ["--silence", "4"],
        ],
        ["clearingForwardedFor", "client_address", "fail", /counted as 127\.0\.0\.2/, /127\.0\.0\.2.*trustedProxies/],
        ["hidingAddress", "client_address", "fail", /cannot read/, /visitor's IP address in X-Forwarded-For/],
        [
          "untrusted",
          "client_address",
          "fail",
          /127\.0\.0\.3.*forwards another address/,
          /127\.0\.0\.3.*trustedProxies/,
        ],
        ["forwardingForgery", "forged_address", "fail", /can choose/, /\$remote_addr/],
        ["trustingAll", "forged_address", "fail", /trusts every address/, /trustedProxies/],
        ["clockBehind", "clock", "fail", /1[12]\d s behind/, /NTP/],
        [
          "overridingCors",
          "cors",
          "fail",
          /2 Access-Control-Allow-Origin headers.*removes Vary: Origin/,
          /remove add_header/,
        ],
        ["expired", "certificate", "fail", /^expired on/, /renew/],
        ["expiringSoon", "certificate", "warn", /[23] days from now/, /renewed/],
        ["selfSigned", "certificate", "fail", /self-signed/, /authority/],
        [
          "otherHostName",
          "certificate",
          "fail",
          /issued for other\.example, not for 127\.0\.0\.1/,
          /certificate for 127\.0\.0\.1/,
        ],
        ["redirecting", "access", "fail", /redirected to https:\/\/elsewhere\.example\/api\/doctor\//, /that URL/],
        ["backendDown", "access", "fail", /proxy returned 502/, /backend/],
      ];

    test.each(faults)(
      "reports the fault %s: check %s, result %s",
      async (fault, check, result, message, fix, more = ["--quick"]) => {
        // Retries, because on a busy machine the doctor may report buffering.
        await vi.waitFor(
          async () => {
            const diagnosis = await runInThisProcess(proxies.url(fault), ...more);
            const finding = findingOf(diagnosis, check);
            const expected = { result, message: expect.stringMatching(message) };
            expect(finding, JSON.stringify(diagnosis.findings)).toMatchObject(expected);
            expect(finding?.mends.map((each) => each.mend).join("; ")).toMatch(fix);
            expect(diagnosis.code).toBe(result === "fail" ? 1 : 0);
            // No other check fails, except those that the fault implies.
            const others = diagnosis.findings.filter((each) => each.result === "fail" && each.check !== check);
            const implied = { forwardingForgery: ["client_address"], redirecting: ["cors"], backendDown: ["cors"] };
            expect(others.map((each) => each.check)).toEqual(implied[fault as keyof typeof implied] ?? []);
          },
          { timeout: 45_000 },
        );
      },
    );

    test("reports a certificate authority that the machine does not trust", async () => {
      const args = ["--public-key", tenant.publicKey, "--origin", tenant.origin, "--quick", "--json"];
      const { code, stdout } = await runCliInChildProcess(["doctor", proxies.url("healthyTls"), ...args], {});
      expect(code).toBe(1);
      expect(findingOf(JSON.parse(stdout) as Report, "certificate")?.message).toMatch(/authority that this machine/);
    });

    test("reports an unknown key, and an origin that the key does not allow", async () => {
      const [origin, key] = await Promise.all([
        runInThisProcess(proxies.url("healthy"), "--quick", "--origin", "https://elsewhere.example"),
        runInThisProcess(proxies.url("healthy"), "--quick", "--public-key", `svc_pk_${"0".repeat(32)}`),
      ]);
      expect(findingOf(origin, "access")).toMatchObject({
        result: "fail",
        message: "https://elsewhere.example is not one of the key's allowed domains",
        mends: [{ mend: expect.stringContaining("--domain elsewhere.example") }],
      });
      expect(findingOf(key, "access")?.message).toMatch(/revoked or unknown/);
      expect([origin.code, key.code]).toEqual([1, 1]);
    });

    test("checks a visitor token without printing it, and does not send it without a valid certificate", async () => {
      const verified = await createTenant(system.admin);
      const { secret } = await system.admin.identityKeys.createIdentityKey({ workspaceId: verified.workspaceId });
      const [token, forged] = await Promise.all([
        signVisitorToken(secret, "private-name"),
        signVisitorToken(`${secret}x`, "private-name"),
      ]);
      const file = join(directory, "token");
      await writeFile(file, `${token}\n`);
      const runWith = (server: ServerName, text: string, ...more: string[]) =>
        runCliInProcess(argumentsOf(verified, proxies.url(server), "--quick", "--json", ...more), {
          PARLEY_VISITOR_TOKEN: text,
        });
      const [accepted, refused, unsent] = await Promise.all([
        runWith("healthyTls", forged, "--visitor-token-file", file),
        runWith("healthyTls", forged),
        runWith("selfSigned", token),
      ]);
      const findings = [accepted, refused, unsent].map(({ stdout, stderr }) => {
        expect(stdout + stderr).not.toMatch(new RegExp(`private-name|${token}|${forged}|${secret}`));
        return findingOf(JSON.parse(stdout) as Report, "visitor_token");
      });
      expect(findings).toMatchObject([
        { result: "pass", message: expect.stringMatching(/^accepted; it expires in (59|60) min$/) },
        {
          result: "fail",
          message: "refused: no identity key of the workspace verifies its signature",
          mends: [{ proxy: null, mend: expect.stringContaining("parley_visitor_") }],
        },
        { result: "warn", message: "not checked: the token is not sent to a server without a valid certificate" },
      ]);
    });

    test("reports a closed port, a name without an address and a port without TLS", async () => {
      const [refused, unresolved, plain] = await Promise.all([
        runInThisProcess(`http://127.0.0.1:${await freePort()}`),
        runInThisProcess("https://parley.invalid"),
        runInThisProcess(proxies.url("healthy").replace("http:", "https:")),
      ]);
      expect(refused.findings).toMatchObject([{ check: "connection", result: "fail" }]);
      expect(refused.findings[0]?.message).toMatch(/refuses connections/);
      expect(unresolved.findings).toMatchObject([{ check: "dns", result: "fail" }]);
      expect(findingOf(plain, "certificate")?.message).toMatch(/TLS handshake on port \d+ failed/);
    });

    test("prints the output that its documentation shows", async () => {
      const page = await readFile(`${root}docs/operations/doctor.md`, "utf8");
      const [, documented = ""] = /^```\n(ok {4}dns[\s\S]*?)^```$/m.exec(page) ?? [];
      const { stdout } = await runInOwnProcess(proxies.url("buffering"), "--silence", "1");
      // The test uses an IP address, so there is no dns check. Numbers and dates vary.
      const expected = documented
        .replace(/^ok {4}dns .*\n/, "")
        .replaceAll(/chat\.example\.com|203\.0\.113\.7/g, "127.0.0.1")
        .replace("https://www.example.com", tenant.origin)
        .replace("of 12", "of 11");
      const withoutNumbers = (text: string) => text.replaceAll(/\d+/g, "#");
      expect(withoutNumbers(stdout)).toBe(withoutNumbers(expected));
    });

    test("prints findings on stdout and progress on stderr", async () => {
      const { code, stdout, stderr } = await runInOwnProcess(proxies.url("compressing"), "--quick");
      expect(code).toBe(1);
      expect(stderr).toMatch(/^connecting to 127\.0\.0\.1:\d+ …\nstreaming paced events …\n$/);
      expect(stdout).toMatch(/^FAIL {2}compression +the stream is compressed \(gzip\)/m);
      expect(stdout).toMatch(/^ +→ nginx: set 'gzip off;'/m);
      expect(stdout).toMatch(/\nProxies: nginx\. \d of \d+ checks failed\.\n$/);
    });

    test("passes on a local installation without a proxy", async () => {
      // Retries, because on a busy machine the doctor may report buffering.
      await vi.waitFor(
        async () => {
          const { stdout, code } = await runInOwnProcess(system.url(), "--quick");
          expect(code, stdout).toBe(0);
          expect(stdout).toMatch(/^ok {4}client address +the edge counts this machine as 127\.0\.0\.1$/m);
          expect(stdout).toContain("No proxy detected.");
        },
        { timeout: 45_000 },
      );
    });
  });
});
