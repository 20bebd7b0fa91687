import { describe, expect, it } from "vitest";
import { componentOf, type Manifest, ofKind, type PodSpec, parseManifests, workloads } from "./manifest.ts";
import { renderChart, runHelmTemplate } from "./render.ts";

// Tests the settings that adapt the chart to a platform: networks, certificate authorities, sidecars, scheduling.

const PROVIDER_BLOCKED = "the network policies block the provider";

function podsOf(manifests: readonly Manifest[]): Map<string, PodSpec> {
  return new Map(workloads(manifests).map(({ labels, pod }) => [componentOf(labels), pod]));
}

function egressOf(manifests: readonly Manifest[], component: string): { to?: object[]; ports?: object[] }[] {
  const policies = ofKind(manifests, "NetworkPolicy");
  return policies.find(({ metadata }) => componentOf(metadata.labels ?? {}) === component)?.spec.egress;
}

describe("the cli pod", () => {
  it("calls the admin services at addresses that do not change, and finds every replica at the headless Services", async () => {
    const { manifests } = await renderChart("minimal");
    const urls = new Map(
      podsOf(manifests)
        .get("cli")
        ?.containers[0]?.env?.map(({ name, value }) => [name, value]),
    );
    const headless = new Map(
      ofKind(manifests, "Service").map(({ metadata, spec }) => [metadata.name, spec.clusterIP === "None"]),
    );
    for (const service of ["CONVERSATION", "QUOTA", "LLM"]) {
      const isHeadless = (variable: string) =>
        headless.get(new URL(urls.get(variable) ?? "").hostname.split(".")[0] ?? "");
      expect(isHeadless(`PARLEY_${service}_URL`), service).toBe(false);
      expect(isHeadless(`PARLEY_${service}_REPLICAS_URL`), service).toBe(true);
    }
  });

  it("calls only host names that the certificates of the ops ports contain", async () => {
    const sets = ["mtls.enabled=true", "mtls.opsPorts=true", "mtls.issuerRef.name=ca"];
    const { manifests } = await renderChart("minimal", sets);
    const certified = ofKind(manifests, "Certificate").flatMap(({ spec }) => spec.dnsNames as string[]);
    const urls = podsOf(manifests)
      .get("cli")
      ?.containers[0]?.env?.filter(({ name }) => name.endsWith("_URL"));
    expect(urls).toHaveLength(7);
    for (const { value = "" } of urls ?? []) expect(certified).toContain(new URL(value).hostname);
  });

  it("and Prometheus trust ca.crt of the edge's TLS Secret, or the ConfigMap in mtls.trustedAuthorities if it is set", async () => {
    const sets = ["mtls.enabled=true", "mtls.opsPorts=true", "mtls.issuerRef.name=ca", "podMonitor.enabled=true"];
    sets.push("networkPolicy.prometheus[0].ipBlock.cidr=10.0.0.9/32");
    const trustOf = async (...more: string[]) => {
      const { manifests } = await renderChart("minimal", [...sets, ...more]);
      const [monitor] = ofKind(manifests, "PodMonitor") as [Manifest];
      const volume = podsOf(manifests)
        .get("cli")
        ?.volumes?.find(({ name }) => name === "ops-ca");
      return { volume, ca: monitor.spec.podMetricsEndpoints[0].tlsConfig.ca };
    };
    expect(await trustOf()).toEqual({
      volume: { name: "ops-ca", secret: { secretName: "parley-edge-tls", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      ca: { secret: { name: "parley-edge-tls", key: "ca.crt" } },
    });
    const trusted = ["existingConfigMap=authorities", "key=bundle.pem"].map((set) => `mtls.trustedAuthorities.${set}`);
    expect(await trustOf(...trusted)).toEqual({
      volume: { name: "ops-ca", configMap: { name: "authorities", items: [{ key: "bundle.pem", path: "ca.crt" }] } },
      ca: { configMap: { name: "authorities", key: "bundle.pem" } },
    });
  });
});

describe("network policies", () => {
  it("open the ports of the configured DNS servers in every policy", async () => {
    const { manifests } = await renderChart("openshift");
    const policies = ofKind(manifests, "NetworkPolicy");
    expect(policies).toHaveLength(7);
    for (const { spec } of policies)
      expect(spec.egress[0]).toEqual({
        to: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "openshift-dns" } } }],
        ports: [
          { port: 5353, protocol: "UDP" },
          { port: 5353, protocol: "TCP" },
        ],
      });
  });

  it("open the extraEgress of a component only for that component, and the edge's also for the preflight, which the migration Job runs", async () => {
    const components = ["edge", "conversation", "quota", "llmProxy", "cli", "migrations", "console"];
    const sets = components.map((name, index) => `networkPolicy.extraEgress.${name}[0].ports[0].port=${9_000 + index}`);
    const { manifests } = await renderChart("console", sets);
    const names = ["edge", "conversation", "quota", "llm-proxy", "cli", "migrations", "console", "preflight"];
    const opened = names.map((name) => JSON.stringify(egressOf(manifests, name)).match(/(?<="port":)9\d{3}/g));
    expect(opened.map(String)).toEqual(["9000", "9001", "9002", "9003", "9004", "9000,9005", "9006", "9000"]);
  });

  const EGRESS_PROXY = "egressProxy=http://proxy.example.internal:3128";
  const PROVIDER_PROXY = "llmProxy.providerProxy=http://llm.example.internal:3129";
  const isInternet = ({ to = [] }: { to?: object[] }) => JSON.stringify(to).includes("0.0.0.0/0");
  const isPort =
    (port: number) =>
    ({ ports = [] }: { ports?: object[] }) =>
      JSON.stringify(ports).includes(`"port":${port},`);

  it.each([
    { set: "logLevel=info", internet: ["conversation", "llm-proxy"], egressProxy: [], providerProxy: [] },
    { set: PROVIDER_PROXY, internet: ["conversation", "llm-proxy"], egressProxy: [], providerProxy: ["llm-proxy"] },
    { set: EGRESS_PROXY, internet: ["llm-proxy"], egressProxy: ["conversation", "llm-proxy"], providerProxy: [] },
    {
      set: `${EGRESS_PROXY},${PROVIDER_PROXY}`,
      internet: [],
      egressProxy: ["conversation", "llm-proxy"],
      providerProxy: ["llm-proxy"],
    },
  ])(
    "with $set open each proxy's port only for components that use the proxy, and the internet only for components that connect to it directly",
    async (expected) => {
      // The proxies are in the private network, so the chart needs their peers.
      const peers = expected.set.includes("roxy=") ? ["networkPolicy.proxies[0].ipBlock.cidr=10.9.0.10/32"] : [];
      const { manifests } = await renderChart("minimal", [expected.set, ...peers]);
      const components = [...podsOf(manifests).keys()];
      const componentsWith = (matches: (rule: { to?: object[]; ports?: object[] }) => boolean) =>
        new Set(components.filter((name) => egressOf(manifests, name).some(matches)));
      expect(componentsWith(isInternet)).toEqual(new Set(expected.internet));
      expect(componentsWith(isPort(3128))).toEqual(new Set(expected.egressProxy));
      expect(componentsWith(isPort(3129))).toEqual(new Set(expected.providerProxy));
      const withVariable = [...podsOf(manifests)].filter(([, { containers }]) =>
        containers[0]?.env?.some(({ name }) => name === "EGRESS_PROXY"),
      );
      expect(new Set(withVariable.map(([name]) => name))).toEqual(new Set(expected.egressProxy));
    },
  );

  it("open the proxies' ports only at the peers in networkPolicy.proxies, if it is set", async () => {
    const peer = "networkPolicy.proxies[0].ipBlock.cidr=10.9.0.10/32";
    const { manifests } = await renderChart("minimal", [EGRESS_PROXY, peer]);
    for (const component of ["conversation", "llm-proxy"])
      expect(egressOf(manifests, component)).toContainEqual({
        to: [{ ipBlock: { cidr: "10.9.0.10/32" } }],
        ports: [{ port: 3128, protocol: "TCP" }],
      });
  });

  it("open the mail server's port of conversation.email only if it is enabled, at the peers in networkPolicy.smtp", async () => {
    const isSmtp = ({ ports = [] }: { ports?: object[] }) => JSON.stringify(ports).includes('"port":2525');
    const email = ["conversation.email.from=p@example.com,conversation.email.port=2525"];
    const rulesOf = async (...sets: string[]) =>
      egressOf((await renderChart("minimal", [...email, ...sets])).manifests, "conversation").filter(isSmtp);
    expect(await rulesOf()).toEqual([]);
    const enabled = "conversation.email.enabled=true";
    expect(JSON.stringify(await rulesOf(enabled))).toContain("0.0.0.0/0");
    expect(await rulesOf(enabled, "networkPolicy.smtp[0].ipBlock.cidr=10.9.0.25/32")).toEqual([
      { to: [{ ipBlock: { cidr: "10.9.0.25/32" } }], ports: [{ port: 2525, protocol: "TCP" }] },
    ]);
    const { code, output } = await runHelmTemplate("minimal", [enabled]);
    expect(code).toBe(1);
    expect(output).toContain("conversation.email.from is empty");
  });

  it("name the protocol of every port and have no empty ingress list, so that a repeated kubectl apply finds no difference", async () => {
    for (const values of ["production", "console", "trial", "gateway-api"]) {
      const { manifests } = await renderChart(values);
      for (const { metadata, spec } of ofKind(manifests, "NetworkPolicy")) {
        const rules = [...(spec.ingress ?? []), ...spec.egress] as { ports?: { protocol?: string }[] }[];
        for (const { protocol } of rules.flatMap(({ ports = [] }) => ports))
          expect(protocol, metadata.name).toBeTruthy();
        expect(spec.ingress, metadata.name).not.toEqual([]);
      }
    }
  });

  it.each([
    "egressProxy=proxy.example.internal:3128",
    "egressProxy=socks5://proxy.example.internal:1080",
    "llmProxy.providerProxy=http://proxy.example.internal:3128/proxy.pac",
  ])("fail to render with the invalid proxy URL %s", async (set) => {
    const { code, output } = await runHelmTemplate("minimal", [set]);
    expect(code).toBe(1);
    expect(output).toContain(set.slice(set.lastIndexOf(".", set.indexOf("=")) + 1, set.indexOf("=")));
  });

  it.each([
    ["minimal", "podMonitor.enabled=true", "networkPolicy.prometheus is empty"],
    ["minimal", "prometheusRule.enabled=true", "networkPolicy.prometheus is empty"],
    ["minimal", "llmProxy.openaiBaseUrl=http://models:8000/v1", PROVIDER_BLOCKED],
    ["minimal", "llmProxy.openaiBaseUrl=https://models.ai.svc.cluster.local/v1", PROVIDER_BLOCKED],
    ["minimal", "llmProxy.openaiBaseUrl=https://172.20.0.7/v1", PROVIDER_BLOCKED],
    ["minimal", "llmProxy.openaiBaseUrl=http://models.example.com/v1", PROVIDER_BLOCKED],
    ["minimal", "llmProxy.ollamaHost=ollama.example.com", `${PROVIDER_BLOCKED} http://ollama.example.com:11434`],
    ["minimal", "llmProxy.ollamaHost=ollama.example.com/v1", `${PROVIDER_BLOCKED} http://ollama.example.com:11434/v1`],
    [
      "minimal",
      "llmProxy.ollamaHost=ollama.example.com:8443/v1",
      `${PROVIDER_BLOCKED} http://ollama.example.com:8443/v1`,
    ],
    ["minimal", "llmProxy.ollamaHost=[fd00::7]", `${PROVIDER_BLOCKED} http://[fd00::7]:11434`],
    ["openshift", "networkPolicy.providers[0].ports[0].port=8000", PROVIDER_BLOCKED],
    ["minimal", "llmProxy.openaiBaseUrl=http://[fd00::7]/v1", PROVIDER_BLOCKED],
    [
      "minimal",
      "llmProxy.openaiBaseUrl=http://models.ai.svc/v1,networkPolicy.extraEgress.llmProxy[0].ports[0].port=3128",
      PROVIDER_BLOCKED,
    ],
    [
      "minimal",
      "llmProxy.openaiBaseUrl=http://models.ai.svc/v1,networkPolicy.providers[0].ports[0].port=80,networkPolicy.providers[0].ports[0].protocol=UDP",
      PROVIDER_BLOCKED,
    ],
    [
      "minimal",
      "llmProxy.ollamaHost=ollama.example.com,networkPolicy.providers[0].ports[0].port=11434,networkPolicy.providers[0].ports[0].protocol=UDP",
      PROVIDER_BLOCKED,
    ],
  ])("fail to render with %s values and %s", async (name, set, reason) => {
    const { code, output } = await runHelmTemplate(name, [set]);
    expect(code).toBe(1);
    expect(output).toContain(reason);
  });

  it.each([
    ["minimal", "networkPolicy.enabled=false,podMonitor.enabled=true,llmProxy.openaiBaseUrl=http://models:8000/v1"],
    ["minimal", "llmProxy.openaiBaseUrl=https://models.example.com/v1"],
    ["minimal", "llmProxy.openaiBaseUrl=http://127.0.0.1:8000/v1"],
    [
      "minimal",
      "llmProxy.openaiBaseUrl=https://models.example.com:8443/v1,llmProxy.providerProxy=http://proxy:3128,networkPolicy.proxies[0].ipBlock.cidr=10.9.0.10/32",
    ],
    ["minimal", "llmProxy.ollamaHost=ollama.ai.svc,networkPolicy.providers[0].ports[0].port=8080"],
    ["minimal", "llmProxy.ollamaHost=ollama.ai.svc,networkPolicy.extraEgress.llmProxy[0].ports[0].port=11434"],
    ["minimal", "llmProxy.ollamaHost=ollama.example.com,networkPolicy.extraEgress.llmProxy[0].ports[0].port=11434"],
    [
      "minimal",
      "llmProxy.ollamaHost=ollama.example.com,networkPolicy.providers[0].ports[0].port=11000,networkPolicy.providers[0].ports[0].endPort=12000",
    ],
    ["minimal", "llmProxy.existingConfigMap=own,llmProxy.openaiBaseUrl=http://models:8000/v1"],
  ])("render with %s values and %s", async (name, set) => {
    const { code, output } = await runHelmTemplate(name, [set]);
    expect(code, output).toBe(0);
  });
});

describe("every container of the chart", () => {
  it("trusts the configured authorities", async () => {
    const sets = ["existingConfigMap=authorities", "key=bundle.pem", "containsOpsAuthority=true"].map(
      (set) => `caBundle.${set}`,
    );
    const { manifests } = await renderChart("production", sets);
    for (const [component, { containers, volumes = [] }] of podsOf(manifests)) {
      expect(volumes, component).toContainEqual({
        name: "ca-bundle",
        configMap: { name: "authorities", items: [{ key: "bundle.pem", path: "ca.crt" }] },
      });
      for (const { env = [], volumeMounts } of containers) {
        expect(env, component).toContainEqual({ name: "NODE_EXTRA_CA_CERTS", value: "/etc/parley/ca-bundle/ca.crt" });
        expect(volumeMounts, component).toContainEqual(
          expect.objectContaining({ name: "ca-bundle", mountPath: "/etc/parley/ca-bundle" }),
        );
      }
    }
  });

  it("gets the volumes, the environment and the DNS settings of `pod`, except those that its component sets itself", async () => {
    const { manifests } = await renderChart("production", [
      "pod.extraVolumes[0].name=common,pod.extraVolumeMounts[0].name=common,pod.extraVolumeMounts[0].mountPath=/common",
      "pod.envFrom[0].secretRef.name=common,pod.dnsConfig.nameservers[0]=10.0.0.10",
      "quota.pod.extraVolumes[0].name=own,quota.pod.extraVolumeMounts[0].name=own,quota.pod.extraVolumeMounts[0].mountPath=/own",
    ]);
    const pods = podsOf(manifests);
    expect(pods.size).toBe(8);
    for (const [component, { containers, volumes, dnsConfig }] of pods) {
      const name = component === "quota" ? "own" : "common";
      expect(volumes, component).toContainEqual({ name });
      expect(dnsConfig, component).toEqual({ nameservers: ["10.0.0.10"] });
      for (const { envFrom, volumeMounts } of containers) {
        expect(envFrom, component).toEqual([{ secretRef: { name: "common" } }]);
        expect(volumeMounts, component).toContainEqual({ name, mountPath: `/${name}` });
      }
    }
  });
});

describe("additional containers", () => {
  it("follow the main container in Deployments, and are absent from the Job and the test pod, which would never end with them", async () => {
    const sets = ["pod.extraContainers[0].name=sidecar", "pod.extraContainers[0].image=sidecar:1"];
    const { manifests } = await renderChart("production", sets);
    const places = workloads(manifests).map(({ manifest, pod }) => {
      return `${manifest.kind} ${pod.containers.findIndex(({ name }) => name === "sidecar")}`;
    });
    expect(new Set(places)).toEqual(new Set(["Deployment 1", "Job -1", "Pod -1"]));
  });

  it("of extraInitContainers are the init containers of every pod", async () => {
    const sets = ["pod.extraInitContainers[0].name=proxy", "pod.extraInitContainers[0].restartPolicy=Always"];
    const { manifests } = await renderChart("production", sets);
    for (const [component, { initContainers }] of podsOf(manifests))
      expect(initContainers, component).toEqual([{ name: "proxy", restartPolicy: "Always" }]);
  });

  it("run the database proxy of the openshift values only in pods that use the database", async () => {
    const { manifests } = await renderChart("openshift", [
      "sso.roleClaim=role,sso.ownerRoles[0]=owner,networkPolicy.sso[0].ipBlock.cidr=10.9.0.20/32",
      "console.enabled=true,console.url=https://console.example.com,console.edgeUrl=https://chat.example.com",
      "console.existingSecret=parley-console",
    ]);
    const components = [...podsOf(manifests)].filter(([, { initContainers = [] }]) => initContainers.length > 0);
    expect(components.map(([component]) => component).sort()).toEqual([
      "conversation",
      "llm-proxy",
      "migrations",
      "quota",
    ]);
  });
});

describe("other settings", () => {
  it.each(["minimal", "production"])("set the timing of the four services' probes, with %s values", async (name) => {
    const { manifests } = await renderChart(name, [
      "pod.startupProbe.failureThreshold=90,pod.readinessProbe.periodSeconds=7,pod.livenessProbe.timeoutSeconds=9",
      "quota.pod.livenessProbe.timeoutSeconds=3",
    ]);
    const timings = ["edge", "conversation", "quota", "llm-proxy"].map((component) => {
      const [container] = podsOf(manifests).get(component)?.containers ?? [];
      const { startupProbe, readinessProbe, livenessProbe } = (container ?? {}) as unknown as Record<string, object>;
      return { startupProbe, readinessProbe, livenessProbe };
    });
    expect(timings).toEqual(
      [9, 9, 3, 9].map((timeoutSeconds) => ({
        startupProbe: expect.objectContaining({ periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 90 }),
        readinessProbe: expect.objectContaining({ periodSeconds: 7, timeoutSeconds: 2, failureThreshold: 2 }),
        livenessProbe: expect.objectContaining({
          periodSeconds: 10,
          timeoutSeconds,
          failureThreshold: 6,
          terminationGracePeriodSeconds: 30,
        }),
      })),
    );
  });

  it("keep a pod pending if it would make the spread uneven, with topologySpreadWhenUnsatisfiable=DoNotSchedule", async () => {
    const spreadOf = async (...sets: string[]) =>
      podsOf((await renderChart("minimal", sets)).manifests)
        .get("quota")
        ?.topologySpreadConstraints?.map((each) => JSON.stringify(each).match(/ScheduleAnyway|DoNotSchedule|Honor/g));
    expect(await spreadOf()).toEqual([["ScheduleAnyway"], ["ScheduleAnyway"]]);
    const strict = await spreadOf("pod.topologySpreadWhenUnsatisfiable=DoNotSchedule");
    expect(strict).toEqual([
      ["DoNotSchedule", "Honor"],
      ["DoNotSchedule", "Honor"],
    ]);
  });

  it("name the load balancer's class", async () => {
    const { manifests } = await renderChart("single-namespace-restricted");
    const classes = ofKind(manifests, "Service").flatMap(({ spec }) => spec.loadBalancerClass ?? []);
    expect(classes).toEqual(["service.k8s.aws/nlb"]);
  });

  it("add objects and templates to the release", async () => {
    const objects = [
      { kind: "ConfigMap", metadata: { name: "{{ .Release.Name }}-a" }, data: { key: "{{ .Values.logLevel }}" } },
      "kind: ConfigMap\nmetadata: { name: {{ .Release.Namespace }}-b }",
    ];
    const { code, output } = await runHelmTemplate(
      "minimal",
      [],
      ["--set-json", `extraObjects=${JSON.stringify(objects)}`],
    );
    expect(code, output).toBe(0);
    expect(ofKind(parseManifests(output), "ConfigMap")).toEqual([
      { kind: "ConfigMap", metadata: { name: "parley-a" }, data: { key: "info" } },
      { kind: "ConfigMap", metadata: { name: "chat-b" } },
    ]);
  });
});

it("gives the workload identity of a cloud to llm-proxy's pods and ServiceAccount, and to no others", async () => {
  const label = "llmProxy.pod.labels.azure\\.workload\\.identity/use=true";
  const annotations = [
    "llmProxy.serviceAccountAnnotations.azure\\.workload\\.identity/client-id=the-identity",
    "llmProxy.serviceAccountAnnotations.eks\\.amazonaws\\.com/role-arn=the-role",
  ];
  const flags = ["--set-string", label, ...annotations.flatMap((each) => ["--set-string", each])];
  const { output } = await runHelmTemplate("minimal", [], flags);
  const manifests = parseManifests(output);
  const labelled = workloads(manifests).filter(({ labels }) => labels["azure.workload.identity/use"] === "true");
  expect(labelled.map(({ labels }) => componentOf(labels))).toEqual(["llm-proxy"]);
  const accounts = ofKind(manifests, "ServiceAccount").filter(
    ({ metadata: { annotations = {} } }) =>
      annotations["azure.workload.identity/client-id"] === "the-identity" &&
      annotations["eks.amazonaws.com/role-arn"] === "the-role",
  );
  expect(accounts.map(({ metadata }) => metadata.name)).toEqual([labelled[0]?.pod.serviceAccountName]);
});
