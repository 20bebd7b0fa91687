{{/* An environment variable from a Secret: (dict "root" $ "env" "ADMIN_TOKEN" "key" "ADMIN_TOKEN" "secret" ""). */}}
{{- define "parley.secretEnv" -}}
- name: {{ .env }}
  valueFrom:
    secretKeyRef:
      name: {{ default (include "parley.secretName" .root) .secret | required (printf "existingSecret is empty: name the Secret that holds %s" (default .env .key)) }}
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

{{/* The keys of the tokens that a component's pods read from files, as JSON. A rotation changes the files of running pods. */}}
{{- define "parley.tokens" -}}
{{- if has .name (list "conversation" "quota" "llm-proxy") -}}
{{ list "INTERNAL_TOKEN" "ADMIN_TOKEN" | toJson }}
{{- else if eq .name "edge" -}}
{{ list "INTERNAL_TOKEN" | toJson }}
{{- else if eq .name "cli" -}}
{{ list "ADMIN_TOKEN" | toJson }}
{{- else -}}
[]
{{- end -}}
{{- end -}}

{{- define "parley.serviceEnv" -}}
- name: HOST
  value: 0.0.0.0
- name: LOG_LEVEL
  value: {{ .root.Values.logLevel }}
- name: DRAIN_MS
  value: {{ mul .values.drainSeconds 1000 | quote }}
{{- include "parley.commonEnv" . }}
{{- range include "parley.tokens" . | fromJsonArray }}
- name: {{ . }}_FILE
  value: /etc/parley/tokens/{{ . }}
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

{{/* How requests for a user's URL leave a service. */}}
{{- define "parley.egressEnv" -}}
{{- with .Values.egressProxy }}
- name: EGRESS_PROXY
  value: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* How to verify access tokens. */}}
{{- define "parley.ssoEnv" -}}
{{- with include "parley.sso" . | fromJson -}}
- name: JWT_ISSUER
  value: {{ .issuer | quote }}
- name: JWT_AUDIENCE
  value: {{ .audience | quote }}
- name: JWKS_URL
  value: {{ .jwksUrl | quote }}
- name: JWT_WORKSPACE_CLAIM
  value: {{ .workspaceClaim | quote }}
{{- if .roleClaim }}
- name: JWT_ROLE_CLAIM
  value: {{ .roleClaim | quote }}
- name: JWT_OWNER_ROLES
  value: {{ join "," .ownerRoles | quote }}
- name: JWT_VIEWER_ROLES
  value: {{ join "," .viewerRoles | quote }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* The same for a service with admin services. Without roles no access token gives access to them. */}}
{{- define "parley.adminSsoEnv" -}}
{{- if .Values.sso.roleClaim }}
{{ include "parley.ssoEnv" . }}
{{- end }}
{{- end -}}

{{/*
The gRPC target of a component. It names the headless Service, which resolves to every replica, and the ClusterIP Service. After a rollout,
cached DNS answers for the headless Service may name only replicas that are gone.
*/}}
{{- define "parley.target" -}}
{{- $port := include "parley.port" (dict "name" .name "port" "grpc") -}}
names:///{{ include "parley.host" . }}:{{ $port }},{{ include "parley.clusterIpName" . }}.{{ .root.Release.Namespace }}.svc:{{ $port }}
{{- end -}}

{{/*
The URL of a component's ops port at a Service: (dict "root" $ "name" "quota" "service" "quota-clusterip").
*/}}
{{- define "parley.opsUrl" -}}
{{ ternary "https" "http" .root.Values.mtls.opsPorts }}://{{ include "parley.host" (dict "root" .root "name" .service) }}:{{ include "parley.port" (dict "name" .name "port" "ops") }}
{{- end -}}

{{/*
The variables of the ops ports. Admin calls use the ClusterIP Service: for 30 s after an installation or a rollout, DNS caches may have no
address of the headless Service, or only those of replicas that are gone. `parley top` needs the headless Service's, to read every replica.
*/}}
{{- define "parley.opsUrls" -}}
- name: PARLEY_EDGE_URL
  value: {{ include "parley.opsUrl" (dict "root" .root "name" "edge" "service" "edge-ops") }}
{{- range $name, $variable := dict "conversation" "CONVERSATION" "quota" "QUOTA" "llm-proxy" "LLM" }}
- name: PARLEY_{{ $variable }}_URL
  value: {{ include "parley.opsUrl" (dict "root" $.root "name" $name "service" (printf "%s-clusterip" $name)) }}
- name: PARLEY_{{ $variable }}_REPLICAS_URL
  value: {{ include "parley.opsUrl" (dict "root" $.root "name" $name "service" $name) }}
{{- end }}
{{- end -}}

{{/*
A database URL without the password: (dict "root" $ "user" "parley_quota" "host" … "port" …). PGPASSWORD holds the password, so that the
password may contain any character.
*/}}
{{- define "parley.databaseUrl" -}}
{{- $db := .root.Values.database -}}
{{- $host := .host | required "database.host is empty: name your PostgreSQL server" -}}
postgres://{{ .user }}@{{ $host }}:{{ .port | int }}/{{ $db.name }}
{{- if include "parley.usesTrialPostgres" .root }}
{{- else if eq $db.tls.mode "verify-full" }}?sslmode=verify-full
{{- if $db.tls.ca.existingSecret }}&sslrootcert=/etc/parley/database-ca/ca.crt{{ end }}
{{- else if eq $db.tls.mode "no-verify" }}?sslmode=no-verify
{{- end }}
{{- end -}}

{{/* The suffix of the roles' names and of their passwords' keys. */}}
{{- define "parley.roleSetSuffix" -}}
{{ ternary "_2" "" (eq (int .Values.database.roleSet) 2) }}
{{- end -}}

{{/* The login of a service's role. Expects a component with "schema" (conversation, quota, llm). */}}
{{- define "parley.databaseEnv" -}}
{{- $db := .root.Values.database -}}
{{- $suffix := include "parley.roleSetSuffix" .root -}}
- name: DATABASE_URL
  value: {{ include "parley.databaseUrl" (dict "root" .root "user" (printf "parley_%s%s%s" .schema $suffix $db.userSuffix) "host" (default (include "parley.databaseHost" .root) .values.databaseHost) "port" $db.port) | quote }}
{{ include "parley.secretEnv" (dict "root" .root "env" "PGPASSWORD" "key" (printf "%s_DATABASE_PASSWORD%s" (upper .schema) $suffix) "secret" $db.existingSecret) }}
- name: DATABASE_POOL
  value: {{ .values.databasePool | quote }}
{{- if not $db.preparedStatements }}
- name: DATABASE_PREPARED_STATEMENTS
  value: "off"
{{- end }}
{{- end -}}
