import { randomUUID } from "node:crypto";
import { join } from "node:path";
import {
  createAdminCaller,
  formatCount,
  type Instance,
  localTarget,
  readInstance,
  removeInstance,
  writeInstance,
} from "@parley/cli";
import { ProviderAdminService } from "@parley/rpc/llm";
import { buildWidget } from "@parley/widget/build";
import type { CleanupStack } from "./cleanup-stack.ts";
import type { Config } from "./config.ts";
import { lockDataDir } from "./database/data-dir.ts";
import { openExternalDatabase } from "./database/database.ts";
import { startEmbeddedDatabase } from "./database/embedded-database.ts";
import { migrateAll } from "./database/migrations.ts";
import { describeDemo, ensureDemo } from "./demo.ts";
import { assertPortsFree, assignPorts, buildEdgeUrl, isLoopback, LOOPBACK, PORT_COUNT } from "./processes/ports.ts";
import { buildServiceSpecs } from "./processes/services.ts";
import { startServices, startSupervisedProcess } from "./processes/start-services.ts";
import { ensureSecrets } from "./secrets.ts";
import { buildShopSpec } from "./shop-spec.ts";
import { buildSsoSpec } from "./sso-spec.ts";
import { summarize } from "./summary.ts";
import type { Terminal } from "./terminal.ts";
import { chooseIssuer } from "./tokens.ts";

/** How long to wait until the services of a killed start command have drained their streams and released their ports. */
const PORT_RELEASE_TIMEOUT_MS = 30_000;

/**
 * Starts Parley step by step and adds the cleanup of each step to `cleanups`. Returns the summary for the terminal. Throws StartError or
 * CliError when a step fails, and the signal's reason when `stopSignal` aborts.
 */
export async function startParley(
  config: Config,
  terminal: Terminal,
  cleanups: CleanupStack,
  stopSignal: AbortSignal,
): Promise<string> {
  const { dataDir } = config;
  const ports = assignPorts(config.port);
  const context = { notify: terminal.showNotice, cleanups, stopSignal };
  const step: Terminal["runStep"] = (label, work, describe) => {
    stopSignal.throwIfAborted();
    return terminal.runStep(label, work, describe);
  };

  const lock = await lockDataDir(dataDir);
  cleanups.add(() => lock.release());
  // This process holds the lock, so an instance file means that the previous start was killed.
  const wasKilled = (await readInstance(dataDir)) !== undefined;
  const secrets = await ensureSecrets(dataDir, config);

  await step(
    "ports",
    () => assertPortsFree(ports, config.publicHost, wasKilled ? PORT_RELEASE_TIMEOUT_MS : 0),
    () => `${config.port} to ${config.port + PORT_COUNT - 1}`,
  );
  const widgetDir = join(dataDir, "widget");
  // Builds the widget while the database starts, because that start mostly waits for the disk.
  const widget = buildWidget(widgetDir);
  widget.catch(() => undefined);
  const consoleDir = join(dataDir, "console");
  const hasConsole = config.missingConsoleVariables.length === 0;
  const consolePage = hasConsole ? buildConsolePage(consoleDir) : undefined;
  consolePage?.catch(() => undefined);
  const database = await step(
    "database",
    () =>
      config.databaseUrl
        ? openExternalDatabase(config.databaseUrl)
        : startEmbeddedDatabase({
            dataDir,
            port: ports.database,
            password: secrets.databasePassword,
            notify: terminal.showNotice,
          }),
    ({ description }) => description,
  );
  cleanups.add(database.stop, database.stopNow);
  await step(
    "schemas",
    () => migrateAll(database.url, secrets, config),
    (applied) => (applied === 0 ? "up to date" : `${formatCount(applied, "migration")} applied`),
  );
  await step(
    "widget",
    () => widget,
    ({ files }) => `${formatCount(Object.keys(files).length, "file")} built`,
  );
  if (consolePage !== undefined) {
    await step(
      "console",
      () => consolePage,
      ({ firstLoadBytes }) => `built, first load ${Math.round(firstLoadBytes / 1_000)} KB`,
    );
  }
  const tokenIssuer = await chooseIssuer(config, ports);
  const specs = await buildServiceSpecs({
    config,
    ports,
    secrets,
    databaseUrl: database.url,
    tokenIssuer,
    widgetDir,
    consoleDir,
  });
  if (!config.hasIdentityProvider) {
    await step(
      "sign-in",
      () => startSupervisedProcess(buildSsoSpec(config, ports), context),
      () => "for development, on this machine only",
    );
  }
  await step(
    "services",
    () => startServices(specs, context, hasConsole ? [] : ["console"]),
    () => `edge, conversation, quota, llm-proxy${hasConsole ? ", console" : ""}`,
  );

  const instance: Instance = {
    pid: process.pid,
    edgeUrl: buildEdgeUrl(config),
    edgeOpsUrl: `http://${LOOPBACK}:${ports.edgeOps}`,
    adminUrls: {
      conversation: `http://${LOOPBACK}:${ports.conversationOps}`,
      quota: `http://${LOOPBACK}:${ports.quotaOps}`,
      llm: `http://${LOOPBACK}:${ports.llmOps}`,
    },
    adminToken: secrets.adminToken,
    internalToken: secrets.internalToken,
    issuerSettings: tokenIssuer.issuerSettings,
  };
  await writeInstance(dataDir, instance);
  cleanups.add(() => removeInstance(dataDir));
  const callAdmin = createAdminCaller(localTarget(instance, dataDir));
  const demo = await step("demo", () => ensureDemo(callAdmin, dataDir), describeDemo);
  const { edgeUrl } = instance;
  const shopUrl = `http://localhost:${ports.shop}`;
  if (demo !== undefined) {
    const { publicKey } = demo;
    await step(
      "sample shop",
      () => startSupervisedProcess(buildShopSpec({ config, port: ports.shop, edgeUrl, publicKey }), context),
      () => shopUrl,
    );
  }
  const { defaultModel } = await callAdmin(ProviderAdminService, (service) => service.listProviders({}));
  return summarize({
    edgeUrl,
    shopUrl,
    isLocalOnly: isLoopback(config.publicHost),
    consoleUrl: `http://localhost:${ports.console}`,
    missingConsoleVariables: config.missingConsoleVariables,
    publicKey: demo?.publicKey,
    defaultModel,
    dataDir,
    databaseDir: database.dataDir,
    hasIdentityProvider: config.hasIdentityProvider,
    sessionId: randomUUID(),
  });
}

/** Imports the build tools dynamically, so that the slow import runs while the database starts. */
async function buildConsolePage(directory: string) {
  const { buildConsole } = await import("@parley/console/build");
  // The browser is on this machine, so the page's size matters less than the time until it is ready.
  return buildConsole(directory, { brotliQuality: 1 });
}
