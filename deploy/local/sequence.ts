import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { connectAdmin, type Instance, localTarget, readInstance, removeInstance, writeInstance } from "@parley/cli";
import { ProviderAdminService } from "@parley/rpc/llm";
import { buildWidget } from "@parley/widget/build";
import type { Closing } from "./closing.ts";
import type { Config } from "./config.ts";
import { lockDataDir } from "./data-dir.ts";
import { useDatabaseUrl } from "./database.ts";
import { ensureDemo } from "./demo.ts";
import { startEmbedded } from "./embedded.ts";
import { migrateAll } from "./migrations.ts";
import { assertPortsFree, LOOPBACK, PORT_COUNT, portsFrom } from "./ports.ts";
import { startProcess, startServices } from "./running.ts";
import { ensureSecrets } from "./secrets.ts";
import { serviceSpecs } from "./services.ts";
import { shopSpec } from "./shop-spec.ts";
import { summarize } from "./summary.ts";
import type { Terminal } from "./terminal.ts";
import { chooseIssuer } from "./tokens.ts";

/** Services of a killed start drain their streams before they release their ports. */
const LEFTOVER_TIMEOUT_MS = 30_000;

/**
 * Starts Parley step by step and adds the cleanup of each step to `closing`. Returns the summary for the terminal. Throws StartError or
 * CliError when a step fails, and the signal's reason when `stop` aborts.
 */
export async function bringUp(
  config: Config,
  terminal: Terminal,
  closing: Closing,
  stop: AbortSignal,
): Promise<string> {
  const { dataDir } = config;
  const ports = portsFrom(config.port);
  const running = { notify: terminal.notice, closing, stop };
  const step: Terminal["step"] = (label, work, describe) => {
    stop.throwIfAborted();
    return terminal.step(label, work, describe);
  };

  const lock = await lockDataDir(dataDir);
  closing.add(() => lock.release());
  // This process holds the lock, so an instance file means that the previous start was killed.
  const wasKilled = (await readInstance(dataDir)) !== undefined;
  const secrets = await ensureSecrets(dataDir, config);

  await step(
    "ports",
    () => assertPortsFree(ports, config.publicHost, wasKilled ? LEFTOVER_TIMEOUT_MS : 0),
    () => `${config.port} to ${config.port + PORT_COUNT - 1}`,
  );
  const widgetDir = join(dataDir, "widget");
  // Builds concurrently with the database start, which mostly waits for the disk.
  const widget = buildWidget(widgetDir);
  widget.catch(() => undefined);
  const database = await step(
    "database",
    () =>
      config.databaseUrl
        ? useDatabaseUrl(config.databaseUrl)
        : startEmbedded({
            dataDir,
            port: ports.database,
            password: secrets.databasePassword,
            notify: terminal.notice,
          }),
    ({ description }) => description,
  );
  closing.add(database.stop, database.abandon);
  await step(
    "schemas",
    () => migrateAll(database.url, secrets, config.machine),
    (applied) => (applied === 0 ? "up to date" : `${count(applied, "migration")} applied`),
  );
  await step(
    "widget",
    () => widget,
    ({ files }) => `${Object.keys(files).length} files built`,
  );
  const tokens = await chooseIssuer(config);
  const specs = await serviceSpecs({ config, ports, secrets, databaseUrl: database.url, tokens, widgetDir });
  await step(
    "services",
    () => startServices(specs, running),
    () => "edge, conversation, quota, llm-proxy",
  );

  const instance: Instance = {
    pid: process.pid,
    edgeUrl: `http://localhost:${ports.edge}`,
    edgeOpsUrl: `http://${LOOPBACK}:${ports.edgeOps}`,
    adminUrls: {
      conversation: `http://${LOOPBACK}:${ports.conversationOps}`,
      quota: `http://${LOOPBACK}:${ports.quotaOps}`,
      llm: `http://${LOOPBACK}:${ports.llmOps}`,
    },
    adminToken: secrets.adminToken,
    tokens: tokens.terms,
  };
  await writeInstance(dataDir, instance);
  closing.add(() => removeInstance(dataDir));
  const admin = connectAdmin(localTarget(instance, dataDir));
  const { publicKey } = await step(
    "demo",
    () => ensureDemo(admin, dataDir),
    ({ documentsSent }) => (documentsSent === 0 ? "unchanged" : `${count(documentsSent, "document")} added`),
  );
  const { edgeUrl } = instance;
  const shopUrl = `http://localhost:${ports.shop}`;
  await step(
    "sample shop",
    () => startProcess(shopSpec({ config, port: ports.shop, edgeUrl, publicKey }), running),
    () => shopUrl,
  );
  const { defaultModel } = await admin(ProviderAdminService, (service) => service.listProviders({}));
  return summarize({
    edgeUrl,
    shopUrl,
    publicKey,
    defaultModel,
    dataDir,
    databaseDir: database.dataDir,
    hasSso: config.hasSso,
    sessionId: randomUUID(),
  });
}

function count(amount: number, name: string): string {
  return `${amount} ${name}${amount === 1 ? "" : "s"}`;
}
