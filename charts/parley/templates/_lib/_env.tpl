{{/* An environment variable from a Secret: (dict "root" $ "env" "ADMIN_TOKEN" "key" "ADMIN_TOKEN" "secret" ""). */}}
{{- define "parley.secretEnv" -}}
- name: {{ .env }}
  valueFrom:
    secretKeyRef:
      name: {{ default .root.Values.existingSecret .secret | required (printf "existingSecret is empty: name the Secret that holds %s" (default .env .key)) }}
      key: {{ default .env .key }}
{{- end -}}

{{/* Environment variables of every container. Node reads only one file of additional certificate authorities. */}}
{{- define "parley.commonEnv" -}}
{{- if .root.Values.caBundle.existingConfigMap }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/parley/ca-bundle/ca.crt
{{- else if and (eq .name "cli") .root.Values.mtls.opsPorts }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/parley/ops-ca/ca.crt
{{- end }}
{{- end -}}

{{- define "parley.serviceEnv" -}}
- name: HOST
  value: 0.0.0.0
- name: LOG_LEVEL
  value: {{ .root.Values.logLevel }}
- name: DRAIN_MS
  value: {{ mul .values.drainSeconds 1000 | quote }}
{{- include "parley.commonEnv" . }}
{{ include "parley.secretEnv" (dict "root" .root "env" "INTERNAL_TOKEN") }}
{{- if ne .name "edge" }}
{{ include "parley.secretEnv" (dict "root" .root "env" "ADMIN_TOKEN") }}
{{- end }}
{{- if .root.Values.mtls.enabled }}
- name: GRPC_TLS_DIR
  value: /etc/parley/tls
{{- if .root.Values.mtls.opsPorts }}
- name: OPS_TLS_DIR
  value: /etc/parley/tls
{{- end }}
{{- end }}
{{- with .root.Values.tracing }}{{- if .endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .endpoint | quote }}
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ .ratio | quote }}
{{- if .existingSecret }}
{{ include "parley.secretEnv" (dict "root" $.root "env" "OTEL_EXPORTER_OTLP_HEADERS" "secret" .existingSecret) }}
{{- end }}
{{- end }}{{- end }}
{{- end -}}

{{/*
The gRPC target of a component. It names the headless Service, which resolves to every replica, and the ClusterIP Service. After a rollout,
cached DNS answers for the headless Service may name only replicas that are gone.
*/}}
{{- define "parley.target" -}}
{{- $port := include "parley.port" (dict "name" .name "port" "grpc") -}}
names:///{{ include "parley.host" . }}:{{ $port }},{{ include "parley.clusterIpName" . }}.{{ .root.Release.Namespace }}.svc:{{ $port }}
{{- end -}}

{{/* The URL of a component's ops port. The edge's ops port has a Service of its own. */}}
{{- define "parley.opsUrl" -}}
{{- $service := ternary "edge-ops" .name (eq .name "edge") -}}
{{ ternary "https" "http" .root.Values.mtls.opsPorts }}://{{ include "parley.host" (dict "root" .root "name" $service) }}:{{ include "parley.port" (dict "name" .name "port" "ops") }}
{{- end -}}

{{/*
A database URL without the password: (dict "root" $ "user" "parley_quota" "host" … "port" …). PGPASSWORD holds the password, so that the
password may contain any character.
*/}}
{{- define "parley.databaseUrl" -}}
{{- $db := .root.Values.database -}}
{{- $host := .host | required "database.host is empty: name your PostgreSQL server" -}}
postgres://{{ .user }}@{{ $host }}:{{ .port | int }}/{{ $db.name }}
{{- if eq $db.tls.mode "verify-full" }}?sslmode=verify-full
{{- if $db.tls.ca.existingSecret }}&sslrootcert=/etc/parley/database-ca/ca.crt{{ end }}
{{- else if eq $db.tls.mode "no-verify" }}?sslmode=no-verify
{{- end }}
{{- end -}}

{{/* The login of a service's role. Expects a component with "schema" (conversation, quota, llm). */}}
{{- define "parley.databaseEnv" -}}
{{- $db := .root.Values.database -}}
- name: DATABASE_URL
  value: {{ include "parley.databaseUrl" (dict "root" .root "user" (printf "parley_%s" .schema) "host" (default $db.host .values.databaseHost) "port" $db.port) | quote }}
{{ include "parley.secretEnv" (dict "root" .root "env" "PGPASSWORD" "key" (printf "%s_DATABASE_PASSWORD" (upper .schema)) "secret" $db.existingSecret) }}
- name: DATABASE_POOL
  value: {{ .values.databasePool | quote }}
{{- end -}}
