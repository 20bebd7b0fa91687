import { allContainers, configMapNamesOf, type Manifest, nameOf, ofKind, secretsOf, workloads } from "../manifest.ts";

/** The Secret keys that the chart's README documents. The values file must name every other key that a pod uses. */
export const SECRET_KEYS = [
  "INTERNAL_TOKEN",
  "ADMIN_TOKEN",
  "CONVERSATION_DATABASE_PASSWORD",
  "QUOTA_DATABASE_PASSWORD",
  "LLM_DATABASE_PASSWORD",
  "CONVERSATION_DATABASE_PASSWORD_2",
  "QUOTA_DATABASE_PASSWORD_2",
  "LLM_DATABASE_PASSWORD_2",
  "DATABASE_ADMIN_USERNAME",
  "DATABASE_ADMIN_PASSWORD",
  "REDIS_URL",
  "ENCRYPTION_KEY",
  "SMTP_URL",
  "SESSION_SECRET",
  "OIDC_CLIENT_SECRET",
  "OTEL_EXPORTER_OTLP_HEADERS",
] as const;

/**
 * Reports each reference of a pod to an object or key that might not exist: a Secret or ConfigMap that the chart does not create and the values do
 * not name, a ServiceAccount that the chart does not create, or a Secret key that neither SECRET_KEYS nor the values name. `values` is the
 * parsed values file.
 */
export function referenceProblems(manifests: readonly Manifest[], values: unknown): string[] {
  const created = (kind: string) => ofKind(manifests, kind).map(({ metadata }) => metadata.name);
  const secrets = new Set([
    ...valuesOfKey(values, "existingSecret"),
    ...ofKind(manifests, "Certificate").map(({ spec }) => String(spec.secretName)),
    ...secretsOfSetupJob(manifests),
  ]);
  const configMaps = new Set([...created("ConfigMap"), ...valuesOfKey(values, "existingConfigMap")]);
  const accounts = new Set(created("ServiceAccount"));
  const keys = new Set([
    ...SECRET_KEYS,
    ...valuesOfKey(values, "usernameKey"),
    ...valuesOfKey(values, "passwordKey"),
    ...apiKeyNames(values),
  ]);

  return workloads(manifests).flatMap(({ manifest, pod }) => {
    const problem = (text: string) => `${nameOf(manifest)}: ${text}`;
    const variables = allContainers(pod).flatMap(({ env = [] }) =>
      env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []),
    );
    const volumes = pod.volumes ?? [];
    const mounts = volumes.flatMap(secretsOf);
    const usedSecrets = new Set([...variables, ...mounts].map(({ name }) => name));
    const usedKeys = new Set([
      ...variables.map(({ key }) => key),
      ...mounts.flatMap(({ items = [] }) => items.map(({ key }) => key).filter((key) => key !== "ca.crt")),
    ]);
    const usedConfigMaps = new Set(volumes.flatMap(configMapNamesOf));
    const missing = <T>(used: Iterable<T>, known: ReadonlySet<T>) => [...used].filter((each) => !known.has(each));
    return [
      ...missing(usedSecrets, secrets).map((name) =>
        problem(`the Secret ${name} is neither created by the chart nor named in the values`),
      ),
      ...missing(usedKeys, keys).map((key) =>
        problem(`the Secret key ${key} is neither in SECRET_KEYS nor named in the values`),
      ),
      ...missing(usedConfigMaps, configMaps).map((name) =>
        problem(`the ConfigMap ${name} is neither created by the chart nor named in the values`),
      ),
      ...(accounts.has(pod.serviceAccountName ?? "default")
        ? []
        : [problem(`the chart does not create the ServiceAccount ${pod.serviceAccountName}`)]),
    ];
  });
}

/** Returns the strings that the values file has under this key, at any depth. */
function valuesOfKey(values: unknown, key: string): string[] {
  if (typeof values !== "object" || values === null) return [];
  return Object.entries(values).flatMap(([name, value]) =>
    name === key && typeof value === "string" ? [value] : valuesOfKey(value, key),
  );
}

function apiKeyNames(values: unknown): string[] {
  return (values as { llmProxy?: { apiKeys?: string[] } }).llmProxy?.apiKeys ?? [];
}

/** Returns the names of the Secrets that the setup Job of a trial (`trial.enabled`) creates. Reads them from the Role that may create Secrets. */
function secretsOfSetupJob(manifests: readonly Manifest[]): string[] {
  type PolicyRule = { resources: string[]; resourceNames?: string[]; verbs: string[] };
  return ofKind(manifests, "Role").flatMap(({ rules }) => {
    const secretRules = (rules as PolicyRule[]).filter(({ resources }) => resources.includes("secrets"));
    return secretRules.some(({ verbs }) => verbs.includes("create"))
      ? secretRules.flatMap(({ resourceNames = [] }) => resourceNames)
      : [];
  });
}
