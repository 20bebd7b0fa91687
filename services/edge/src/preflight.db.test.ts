import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, createCertificates } from "@parley/service-kit/testing";
import { describeWith, freePort, nodeFlags, startProcess, startRedis, type TestRedis } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

// Each test makes one mistake of an operator, and expects the process to name the chart's value within 30 s.

const DEADLINE_MS = 30_000;
const PASSWORD = "the-password";

const provider = createServer((request, response) => {
  response.statusCode = request.url?.startsWith("/missing") ? 404 : 200;
  response.end({ "/keys": keySet, "/empty": '{"keys":[]}' }[request.url ?? ""] ?? "<html>");
});
let keySet = "";
let providerUrl: string;
let folder: string;
/** fetch refuses low ports without a request. */
let closedPort: number;

beforeAll(async () => {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  keySet = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), alg: "ES256" }] });
  provider.listen(0, "127.0.0.1");
  await once(provider, "listening");
  providerUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  closedPort = await freePort();
  folder = await mkdtemp(join(tmpdir(), "parley-test-"));
});
afterAll(async () => {
  provider.close();
  await rm(folder, { recursive: true });
});

async function preflight(changes: Record<string, string> = {}, ...args: string[]) {
  const startedAtMs = performance.now();
  const { exited, stderr, output } = await startProcess({
    name: "preflight",
    command: process.execPath,
    args: [...nodeFlags, new URL("preflight.ts", import.meta.url).pathname, ...args],
    env: {
      INTERNAL_TOKEN: "token",
      JWT_ISSUER: "https://sso.example.com/",
      JWT_AUDIENCE: "parley",
      JWKS_URL: `${providerUrl}/keys`,
      ...changes,
    },
  });
  const { code } = await exited;
  expect(performance.now() - startedAtMs).toBeLessThan(DEADLINE_MS);
  expect(output()).not.toContain(PASSWORD);
  return { code, lines: stderr().trimEnd().split("\n") };
}

test("exits 0 without a problem", async () => {
  expect(await preflight()).toEqual({ code: 0, lines: [""] });
});

describe("a problem that keeps the edge from starting", () => {
  test("exits 78, and names the value of every missing setting", async () => {
    const { code, lines } = await preflight({ INTERNAL_TOKEN: "", JWKS_URL: "sso.example.com/keys", JWT_AUDIENCE: "" });
    expect(code).toBe(78);
    expect(lines.sort((a, b) => (a < b ? -1 : 1))).toEqual([
      expect.stringMatching(
        /^edge: INTERNAL_TOKEN is not set.*\(chart: the key INTERNAL_TOKEN of the Secret in existing/,
      ),
      expect.stringMatching(/^edge: JWKS_URL must be a URL.*\(chart: sso\.jwksUrl\)$/),
      expect.stringMatching(/^edge: JWT_AUDIENCE is not set.*\(chart: sso\.audience\)$/),
    ]);
  });

  test("names the Secret's keys if they are missing or unusable", async () => {
    const file = join(folder, "REDIS_URL");
    await writeFile(file, `http://:${PASSWORD}@redis:6379`);
    const { code, lines } = await preflight({
      INTERNAL_TOKEN_FILE: join(folder, "INTERNAL_TOKEN"),
      REDIS_URL_FILE: file,
    });
    expect(lines).toEqual([
      `edge: INTERNAL_TOKEN: the file ${folder}/INTERNAL_TOKEN does not exist (chart: the key INTERNAL_TOKEN of the Secret in existingSecret)`,
      expect.stringMatching(/^edge: REDIS_URL: .*must be a URL \(redis, rediss\).*\(chart: the key REDIS_URL of/),
    ]);
    expect(code).toBe(78);
  });

  test("names mtls if a certificate is missing, is for another name, or has another authority", async () => {
    const [own, other] = await Promise.all([createAuthority("own"), createAuthority("other")]);
    const GRPC_TLS_DIR = await createCertificates(folder, own, "parley-edge.chat.svc");
    const run = (changes: Record<string, string>) => preflight({ GRPC_TLS_DIR, ...changes });
    expect(await run({ EDGE_RPC_TLS_NAME: "parley-edge.chat.svc" })).toEqual({ code: 0, lines: [""] });
    const misnamed = await run({ EDGE_RPC_TLS_NAME: "parley-edge.other.svc" });
    expect(misnamed.lines[0]).toMatch(/tls\.crt is for DNS:parley-edge\.chat\.svc, not for .*\(chart: mtls;/);
    await writeFile(join(GRPC_TLS_DIR, "ca.crt"), other.cert);
    expect((await run({})).lines[0]).toContain("no authority in ca.crt has issued tls.crt");
    const missing = await preflight({ GRPC_TLS_DIR: join(folder, "none") });
    expect(missing).toMatchObject({ code: 78, lines: [expect.stringContaining("none/tls.crt does not exist")] });
  });
});

describe("an unreachable identity provider", () => {
  test.each([
    ["a misspelled host", () => "https://sso.invalid/keys", "the host sso.invalid has no address in DNS"],
    ["a wrong port", () => `http://127.0.0.1:${closedPort}/keys`, "refuses connections"],
    ["https instead of http", () => providerUrl.replace("http", "https"), "does not use TLS"],
    ["a wrong path", () => `${providerUrl}/missing`, "key set request returned status 404"],
    ["the URL of a page", () => `${providerUrl}/page`, "the response is not a key set"],
    ["a key set without keys", () => `${providerUrl}/empty`, "the key set contains no key"],
  ])("is a failure with --strict that names the value: %s", async (_, url, reason) => {
    const { code, lines } = await preflight({ JWKS_URL: url() }, "--strict");
    expect(code).toBe(78);
    expect(lines).toEqual([expect.stringMatching(/^edge: JWKS_URL: .*\(chart: sso.jwksUrl\)$/)]);
    expect(lines[0]).toContain(reason);
  });

  test("is a warning without --strict", async () => {
    const { code, lines } = await preflight({ JWKS_URL: `${providerUrl}/page` });
    expect(code).toBe(0);
    expect(lines).toEqual([expect.stringMatching(/^edge: warning: JWKS_URL: .*\(chart: sso.jwksUrl\)$/)]);
  });
});

describeWith("redis-server", "an unusable Redis", () => {
  let server: TestRedis;
  beforeAll(async () => {
    server = await startRedis({ args: ["--requirepass", PASSWORD] });
  });
  afterAll(() => server.stop());

  const urlWith = (change: (url: URL) => void) => () => {
    const url = new URL(server.url);
    url.password = PASSWORD;
    change(url);
    return url.href;
  };

  test("is none with the right URL", async () => {
    expect(await preflight({ REDIS_URL: urlWith(() => undefined)() })).toEqual({ code: 0, lines: [""] });
  });

  test.each([
    [
      "a misspelled host",
      urlWith((url) => {
        url.hostname = "redis.invalid";
      }),
      /the host redis\.invalid has no address in DNS/,
    ],
    [
      "a wrong port",
      urlWith((url) => {
        url.port = "1";
      }),
      /127\.0\.0\.1:1 refuses connections/,
    ],
    [
      "a wrong password",
      urlWith((url) => {
        url.password = "wrong";
      }),
      /WRONGPASS/,
    ],
    [
      "no password",
      urlWith((url) => {
        url.password = "";
      }),
      /NOAUTH/,
    ],
    [
      "TLS to a server without TLS",
      urlWith((url) => {
        url.href = url.href.replace("redis:", "rediss:");
      }),
      /does not use TLS|closed the connection|does not answer/,
    ],
  ])("is a failure with --strict that names the value: %s", async (_, url, reason) => {
    const { code, lines } = await preflight({ REDIS_URL: url() }, "--strict");
    expect(code).toBe(78);
    expect(lines).toEqual([expect.stringMatching(/^edge: REDIS_URL: .*\(chart: the key REDIS_/)]);
    expect(lines[0]).toMatch(reason);
  });

  test("is reported together with an identity provider's problem, also if both never answer", async () => {
    const silent = createTcpServer((socket) => socket.on("error", () => undefined));
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const { lines } = await preflight({ REDIS_URL: `redis://${address}`, JWKS_URL: `http://${address}` });
    silent.close();
    expect(lines).toEqual([
      expect.stringMatching(/^edge: warning: JWKS_URL: .*does not answer/),
      expect.stringMatching(/^edge: warning: REDIS_URL: .*does not answer/),
    ]);
  });
});
