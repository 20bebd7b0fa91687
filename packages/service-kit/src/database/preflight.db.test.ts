import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDatabase, isFullRun, nodeFlags, startProcess } from "@parley/test-support";
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { createAuthority, createCertificates } from "../testing/certificates.ts";

// Each test makes one mistake of an operator, and expects the migration process to name the chart value to change within 30 s.

const DEADLINE_MS = 30_000;

async function migrateQuota(env: Record<string, string>) {
  const startedAtMs = performance.now();
  const { exited, stderr } = await startProcess({
    name: "migrate",
    command: process.execPath,
    args: [...nodeFlags, "services/quota/src/migrate.ts"],
    cwd: new URL("../../../..", import.meta.url).pathname,
    env,
  });
  const { code } = await exited;
  expect(performance.now() - startedAtMs).toBeLessThan(DEADLINE_MS);
  return { code, problems: stderr().trimEnd().split("\n") };
}

async function withAdmin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: inject("postgresUrl") });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Creates a database and an administrator with the given attributes, and returns a URL of both. */
async function createInstallation({ attributes = "", owns = true } = {}) {
  const database = await createDatabase();
  const name = `admin_${randomBytes(4).toString("hex")}`;
  await withAdmin(async (client) => {
    await client.query(`CREATE ROLE ${name} LOGIN PASSWORD 'secret' ${attributes}`);
    if (owns) await client.query(`ALTER DATABASE ${database.name} OWNER TO ${name}`);
  });
  onTestFinished(async () => {
    await database.drop();
    // The roles that the administrator created have its name as their prefix.
    await withAdmin((client) => client.query(`DROP ROLE IF EXISTS ${name}_quota; DROP ROLE ${name}`));
  });
  const url = new URL(database.url);
  [url.username, url.password] = [name, "secret"];
  return { url, name, database: database.name };
}

async function listenOnFreePort(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

test.each<[string, (url: URL) => void, string]>([
  [
    "the host is misspelled",
    (url) => {
      url.hostname = "database.invalid";
    },
    "the host database.invalid has no address in DNS (DATABASE_URL; chart: database.host and database.port, or migrations.database if it is set)",
  ],
  [
    "the password is wrong",
    (url) => {
      url.password = "wrong";
    },
    "password authentication failed for user",
  ],
  [
    "the database does not exist",
    (url) => {
      url.pathname = "/parlei";
    },
    'database "parlei" does not exist (DATABASE_URL; chart: database.name)',
  ],
  [
    "the URL names no database",
    (url) => {
      url.pathname = "/";
    },
    "DATABASE_URL names no database (chart: database.name)",
  ],
  [
    "the server has no TLS",
    (url) => url.searchParams.set("sslmode", "verify-full"),
    "The server does not support SSL connections (sslmode and sslrootcert in DATABASE_URL; chart: database.tls)",
  ],
])("names the chart value if %s", async (_, change, expected) => {
  const { url } = await createInstallation();
  change(url);
  const { code, problems } = await migrateQuota({ DATABASE_URL: url.href });
  expect(problems).toEqual([expect.stringContaining(`quota: cannot migrate: ${expected}`)]);
  expect(problems[0]).toMatch(/chart: [a-z]+\./);
  expect(code).toBe(78);
});

test("names the keys and the values of a Secret that does not exist", async () => {
  const { url } = await createInstallation();
  [url.username, url.password] = ["$(DATABASE_ADMIN_USERNAME)", ""];
  const { code, problems } = await migrateQuota({ DATABASE_URL: url.href, DATABASE_CREATE_ROLE: "on" });
  expect(problems).toEqual([
    expect.stringMatching(/DATABASE_ADMIN_USERNAME is not set: .*chart: the key migrations\.admin\.usernameKey/),
    expect.stringMatching(/DATABASE_PASSWORD is not set: .*chart: the key QUOTA_DATABASE_PASSWORD of the Secret/),
  ]);
  expect(code).toBe(78);
});

test("names mtls and the database's value together if the service's certificate is for another name", async () => {
  const { url } = await createInstallation();
  url.pathname = "/parlei";
  const folder = await mkdtemp(join(tmpdir(), "parley-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const GRPC_TLS_DIR = await createCertificates(folder, await createAuthority("ca"), "parley-quota.chat.svc");
  const migrateWith = (changes: Record<string, string>) =>
    migrateQuota({ DATABASE_URL: url.href, GRPC_TLS_DIR, GRPC_TLS_NAME: "parley-quota.chat.svc", ...changes });
  const database = expect.stringContaining("chart: database.name");
  expect((await migrateWith({})).problems).toEqual([database]);
  const misnamed = await migrateWith({ GRPC_TLS_NAME: "parley-quota.shop.svc" });
  expect(misnamed.problems).toEqual([
    expect.stringMatching(/not for parley-quota\.shop\.svc \(chart: mtls;/),
    database,
  ]);
  const missing = await migrateWith({ GRPC_TLS_DIR: join(folder, "none") });
  expect(missing.problems).toEqual([expect.stringMatching(/tls\.crt does not exist \(chart: mtls;/), database]);
});

test("names the administrator's Secret if the password is wrong or missing", async () => {
  const { url } = await createInstallation();
  for (const password of ["wrong", ""]) {
    url.password = password;
    const { problems } = await migrateQuota({ DATABASE_URL: url.href });
    expect(problems).toEqual([expect.stringMatching(/chart: migrations\.admin, whose existingSecret/)]);
  }
});

test.runIf(isFullRun)(
  "names the host and the port if nothing answers, or the port refuses connections",
  async () => {
    const silent = createServer((socket) => socket.on("error", () => undefined));
    const port = await listenOnFreePort(silent);
    onTestFinished(() => void silent.close());
    const unanswered = await migrateQuota({ DATABASE_URL: `postgres://a@127.0.0.1:${port}/parley` });
    expect(unanswered.problems[0]).toContain(`127.0.0.1:${port} does not answer`);
    const refused = await migrateQuota({ DATABASE_URL: "postgres://a@127.0.0.1:1/parley" });
    expect(refused.problems).toEqual([
      expect.stringMatching(/127\.0\.0\.1:1 refuses connections .*chart: database\.host/),
    ]);
  },
  60_000,
);

test("reports every missing privilege at once, with the statement to run", async () => {
  const { url, name, database } = await createInstallation({ owns: false });
  const { code, problems } = await migrateQuota({
    DATABASE_URL: url.href,
    DATABASE_PASSWORD: "password",
    DATABASE_ROLE_PREFIX: `${name}_`,
  });
  expect(problems).toEqual([
    expect.stringContaining(`run as the database's owner: GRANT CREATE ON DATABASE "${database}" TO "${name}";`),
    expect.stringContaining(`(chart: migrations.createRoles); run as a superuser: ALTER ROLE "${name}" CREATEROLE;`),
  ]);
  expect(code).toBe(78);
});

test("names the primary server if the server is read-only", async () => {
  const { url, name, database } = await createInstallation();
  await withAdmin((client) => client.query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`));
  const { problems } = await migrateQuota({ DATABASE_URL: url.href, DATABASE_ROLE_PREFIX: `${name}_` });
  expect(problems).toEqual([
    expect.stringMatching(/is read-only: name the primary server \(DATABASE_URL; chart: database\.host/),
    expect.stringContaining("does not exist; run as a role that may create roles"),
  ]);
});

test("waits for a server that is still starting", async () => {
  const { url, name } = await createInstallation({ attributes: "CREATEROLE" });
  const target = { host: url.hostname, port: Number(url.port) };
  const server = createServer((socket) => {
    const upstream = connect(target);
    socket.pipe(upstream).pipe(socket);
    for (const each of [socket, upstream]) each.on("error", () => undefined);
  });
  const port = await listenOnFreePort(server);
  server.close();
  url.port = String(port);
  const timer = setTimeout(() => server.listen(port, "127.0.0.1"), 3_000);
  onTestFinished(() => {
    clearTimeout(timer);
    server.close();
  });
  const run = await migrateQuota({
    DATABASE_URL: url.href,
    DATABASE_PASSWORD: "password",
    DATABASE_ROLE_PREFIX: `${name}_`,
  });
  expect(run).toEqual({ code: 0, problems: [""] });
});
