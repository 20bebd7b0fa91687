import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, createCertificates } from "@parley/service-kit/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { putBundleIntoConfigMap, startBackends } from "./backends.ts";
import { createLoadCheck, describeStreams, timed } from "./checks.ts";
import { run } from "./commands.ts";
import { createInstallation, type Installation, type Tenant } from "./installation.ts";

/** The provider's host. The cluster's DNS does not know it, so requests reach it only through the proxy. */
const PROVIDER_HOST = "models.example";
/** A public address. A tunnel to its port 80 ends at a website in the proxy's own pod: see proxy.ts. */
const WEBSITE = "93.184.215.14";
const PROXY_URL = "http://proxy.backends.svc.cluster.local:3128";
const STATUS_PORT = 8000;
const LABELS = { app: "proxy" };
const TRUSTED_CONFIG_MAP = "internet-authorities";

const VALUES = {
  llmProxy: { openaiBaseUrl: `https://${PROVIDER_HOST}/v1`, providerProxy: PROXY_URL },
  egressProxy: PROXY_URL,
  caBundle: { existingConfigMap: TRUSTED_CONFIG_MAP },
  networkPolicy: {
    // No rule for the provider, which only the proxy may reach.
    providers: [],
    proxies: [
      {
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "backends" } },
        podSelector: { matchLabels: LABELS },
      },
    ],
  },
};

const MANIFESTS = [
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "proxy", namespace: "backends" },
    spec: {
      selector: { matchLabels: LABELS },
      template: {
        metadata: { labels: LABELS },
        spec: {
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: "proxy",
              image: "node:24-bookworm-slim",
              command: ["node", "/proxy/proxy.js"],
              env: Object.entries({
                PROVIDER_URL: "http://provider:9999",
                CERTIFICATE: "/certificate",
                STATUS_PORT: String(STATUS_PORT),
              }).map(([name, value]) => ({ name, value })),
              readinessProbe: { tcpSocket: { port: 3128 }, periodSeconds: 1 },
              volumeMounts: [
                { name: "proxy", mountPath: "/proxy" },
                { name: "certificate", mountPath: "/certificate" },
              ],
            },
          ],
          volumes: [
            { name: "proxy", configMap: { name: "proxy" } },
            { name: "certificate", secret: { secretName: "proxy" } },
          ],
        },
      },
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "proxy", namespace: "backends" },
    spec: { selector: LABELS, ports: [{ port: 3128 }] },
  },
];

describe("a proxy to the internet on a real cluster", () => {
  let folder: string;
  let installation: Installation;
  let tenant: Tenant;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "parley-proxy-"));
    installation = await createInstallation();
    await startBackends();
    await installation.prepare();
    await startProxy();
    await installation.runDocumented("cluster.md", "5. Install", VALUES);
    tenant = await installation.createTenant();
  });
  afterAll(async () => {
    await installation.remove();
    await rm(folder, { recursive: true });
  });

  const apply = (manifest: unknown) =>
    run("kubectl", ["apply", "--filename", "-"], { stdin: JSON.stringify(manifest) });

  async function startProxy(): Promise<void> {
    await putBundleIntoConfigMap("proxy");
    const authority = await createAuthority("Internet");
    const certificateFolder = await createCertificates(folder, authority, PROVIDER_HOST);
    const sources = ["tls.crt", "tls.key"].map((file) => `--from-file=${join(certificateFolder, file)}`);
    await run("kubectl", ["create", "secret", "generic", "proxy", "--namespace", "backends", ...sources]);
    const data = { "ca.crt": authority.cert };
    await apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: TRUSTED_CONFIG_MAP, namespace: "parley" },
      data,
    });
    await apply({ apiVersion: "v1", kind: "List", items: MANIFESTS });
    const status = ["rollout", "status", "deployment/proxy", "--timeout=170s"];
    await run("kubectl", ["--namespace", "backends", ...status], { timeoutMs: 180_000 });
  }

  /** Returns the targets of the proxy's tunnels, without duplicates. */
  async function listTargets(): Promise<string[]> {
    const script = `fetch("http://127.0.0.1:${STATUS_PORT}").then((each) => each.text()).then(console.log)`;
    const exec = ["--namespace", "backends", "exec", "deployment/proxy", "--", "node", "--eval", script];
    return [...new Set(JSON.parse(await run("kubectl", exec)) as string[])];
  }

  it("forwards all requests to a provider, and loses no stream when llm-proxy restarts", async () => {
    const report = await timed(
      "restart of llm-proxy, which reaches its provider through a proxy",
      () => installation.underLoad(tenant, () => installation.restart("llm-proxy")),
      describeStreams,
    );
    await createLoadCheck(installation, tenant)(report);
    expect(await listTargets()).toEqual([`${PROVIDER_HOST}:443`]);
  });

  it("opens the connection to a document's public address", async () => {
    const bot = ["--workspace", tenant.workspaceId, "--bot", "support"];
    const added = await installation.parley("knowledge", "add", ...bot, "--url", `http://${WEBSITE}/hours.md`);
    expect(added).toContain("hours.md");
    expect(await listTargets()).toContain(`${WEBSITE}:80`);
  });
});
