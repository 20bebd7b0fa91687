import { type Manifest, nameOf, ofKind, workloads } from "../manifest.ts";

/** The keys that the README lists for the Secret; every other key must be one that a values file names. */
export const SECRET_KEYS = [
  "INTERNAL_TOKEN",
  "ADMIN_TOKEN",
  "CONVERSATION_DATABASE_PASSWORD",
  "QUOTA_DATABASE_PASSWORD",
  "LLM_DATABASE_PASSWORD",
  "DATABASE_ADMIN_USERNAME",
  "DATABASE_ADMIN_PASSWORD",
  "REDIS_URL",
  "OTEL_EXPORTER_OTLP_HEADERS",
] as const;

/**
 * Secrets, ConfigMaps and ServiceAccounts that are used and neither made by the chart nor named by the values.
 * `values` is the values file as read.
 */
export function referenceProblems(manifests: readonly Manifest[], values: unknown): string[] {
  const made = (kind: string) => ofKind(manifests, kind).map(({ metadata }) => metadata.name);
  const secrets = new Set([
    ...named(values, "existingSecret"),
    ...ofKind(manifests, "Certificate").map(({ spec }) => String(spec.secretName)),
  ]);
  const configMaps = new Set([...made("ConfigMap"), ...named(values, "existingConfigMap")]);
  const accounts = new Set(made("ServiceAccount"));
  const keys = new Set([
    ...SECRET_KEYS,
    ...named(values, "usernameKey"),
    ...named(values, "passwordKey"),
    ...apiKeys(values),
  ]);

  return workloads(manifests).flatMap(({ manifest, pod }) => {
    const problem = (text: string) => `${nameOf(manifest)}: ${text}`;
    const references = pod.containers.flatMap(({ env = [] }) =>
      env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []),
    );
    return [
      ...references.flatMap(({ name, key }) => [
        ...(secrets.has(name) ? [] : [problem(`nobody makes the Secret ${name}`)]),
        ...(keys.has(key) ? [] : [problem(`the Secret's key ${key} is not documented`)]),
      ]),
      ...(pod.volumes ?? []).flatMap(({ secret, configMap }) => [
        ...(secret === undefined || secrets.has(secret.secretName)
          ? []
          : [problem(`nobody makes the Secret ${secret.secretName}`)]),
        ...(configMap === undefined || configMaps.has(configMap.name)
          ? []
          : [problem(`nobody makes the ConfigMap ${configMap.name}`)]),
      ]),
      ...(accounts.has(pod.serviceAccountName ?? "default")
        ? []
        : [problem(`nobody makes the ServiceAccount ${pod.serviceAccountName}`)]),
    ];
  });
}

/** The values of a key wherever it stands. */
function named(values: unknown, key: string): string[] {
  if (typeof values !== "object" || values === null) return [];
  return Object.entries(values).flatMap(([name, value]) =>
    name === key && typeof value === "string" ? [value] : named(value, key),
  );
}

function apiKeys(values: unknown): string[] {
  return (values as { llmProxy?: { apiKeys?: string[] } }).llmProxy?.apiKeys ?? [];
}
