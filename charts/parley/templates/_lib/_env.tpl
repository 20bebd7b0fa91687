{{/* The name of a Secret: the argument "secret", or "parley.secretName" if "secret" is empty. Takes the arguments of "parley.secretEnv". */}}
{{- define "parley.secretNameFor" -}}
{{ default (include "parley.secretName" .root) .secret | required (printf "existingSecret is empty: name the Secret that holds %s" (default .env .key)) }}
{{- end -}}

{{/*
An environment variable from a Secret: (dict "root" $ "env" "PGPASSWORD" "key" "DATABASE_ADMIN_PASSWORD" "secret" ""). "key" defaults to "env".
With "optional", the container starts even if the key is missing, and can report it.
*/}}
{{- define "parley.secretEnv" -}}
- name: {{ .env }}
  valueFrom:
    secretKeyRef:
      name: {{ include "parley.secretNameFor" . }}
      key: {{ default .env .key }}
      {{- if .optional }}
      optional: true
      {{- end }}
{{- end -}}

{{/*
The variable NODE_EXTRA_CA_CERTS. Node.js reads only one file of additional certificate authorities. The cli pod and the console call the ops ports.
If `caBundle` and `mtls.opsPorts` are set, the bundle must therefore also contain the authority of the ops ports' certificates. If `mtls.opsPorts` is
set without `caBundle`, _console.tpl sets the console's variable.
*/}}
{{- define "parley.extraCaEnv" -}}
{{- if .root.Values.caBundle.existingConfigMap }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/parley/ca-bundle/ca.crt
{{- else if and (eq .name "cli") .root.Values.mtls.opsPorts }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/parley/ops-ca/ca.crt
{{- end }}
{{- end -}}

{{/*
The secrets that a component's pods read from files, as a JSON list of (dict "env" "REDIS_URL" "key" "REDIS_URL" "secret" ""). They are files
rather than variables, because Kubernetes updates the files of running pods when a secret is rotated. A component with "preflight" has the edge's.
*/}}
{{- define "parley.secretFiles" -}}
{{- $values := .root.Values -}}
{{- $files := list -}}
{{- $isEdge := or (eq .name "edge") .preflight -}}
{{- if or $isEdge (has .name (list "conversation" "quota" "llm-proxy" "cli")) -}}
{{- $files = append $files (dict "env" "INTERNAL_TOKEN") -}}
{{- end -}}
{{- if has .name (list "conversation" "quota" "llm-proxy" "cli") -}}
{{- $files = append $files (dict "env" "ADMIN_TOKEN") -}}
{{- end -}}
{{- if and $values.tracing.endpoint $values.tracing.existingSecret (has .name (list "conversation" "quota" "llm-proxy" "edge" "console")) -}}
{{- $files = append $files (dict "env" "OTEL_EXPORTER_OTLP_HEADERS" "secret" $values.tracing.existingSecret) -}}
{{- end -}}
{{- if and $isEdge $values.redis.enabled -}}
{{- $files = append $files (dict "env" "REDIS_URL" "secret" $values.redis.existingSecret) -}}
{{- if and (eq $values.redis.mode "sentinel") $values.redis.sentinelPasswordKey -}}
{{- $files = append $files (dict "env" "REDIS_SENTINEL_PASSWORD" "key" $values.redis.sentinelPasswordKey "secret" $values.redis.existingSecret) -}}
{{- end -}}
{{- end -}}
{{- if and (eq .name "conversation") $values.conversation.webhooks.enabled -}}
{{- $files = append $files (dict "env" "ENCRYPTION_KEY") -}}
{{- end -}}
{{- if and (eq .name "conversation") $values.conversation.email.enabled -}}
{{- $files = append $files (dict "env" "SMTP_URL" "secret" $values.conversation.email.existingSecret) -}}
{{- end -}}
{{- if eq .name "llm-proxy" -}}
{{- range $values.llmProxy.apiKeys -}}
{{- $files = append $files (dict "env" . "secret" $values.llmProxy.existingSecret) -}}
{{- end -}}
{{- end -}}
{{- if eq .name "console" -}}
{{- $files = append $files (dict "env" "SESSION_SECRET" "secret" $values.console.existingSecret) -}}
{{- if $values.console.oidc.hasClientSecret -}}
{{- $files = append $files (dict "env" "OIDC_CLIENT_SECRET" "secret" $values.console.existingSecret) -}}
{{- end -}}
{{- end -}}
{{ $files | toJson }}
{{- end -}}

{{- define "parley.secretFileEnv" -}}
{{- range include "parley.secretFiles" . | fromJsonArray }}
- name: {{ .env }}_FILE
  value: /etc/parley/secrets/{{ .env }}
{{- end }}
{{- end -}}

{{- define "parley.serviceEnv" -}}
- name: HOST
  value: 0.0.0.0
- name: LOG_LEVEL
  value: {{ .root.Values.logLevel }}
- name: DRAIN_MS
  value: {{ mul .values.drainSeconds 1000 | quote }}
{{- include "parley.extraCaEnv" . }}
{{- include "parley.secretFileEnv" . }}
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
{{- end }}{{- end }}
{{- end -}}

{{/* The proxy for a service's requests to URLs that users choose. */}}
{{- define "parley.egressEnv" -}}
{{- with .Values.egressProxy }}
- name: EGRESS_PROXY
  value: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* The variables for verifying access tokens. */}}
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
- name: JWT_AGENT_ROLES
  value: {{ join "," .agentRoles | quote }}
- name: JWT_VIEWER_ROLES
  value: {{ join "," .viewerRoles | quote }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* "parley.ssoEnv" for a component with admin services. Empty without `sso.roleClaim`, because then no access token permits admin calls. */}}
{{- define "parley.adminSsoEnv" -}}
{{- if .Values.sso.roleClaim }}
{{ include "parley.ssoEnv" . }}
{{- end }}
{{- end -}}

{{/*
The gRPC target of a component. It names the headless Service, which resolves to every replica, and the ClusterIP Service as a fallback: after a
rollout, cached DNS answers for the headless Service may name only replicas that are gone.
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
The variables with the URLs of the ops ports. Admin calls use the ClusterIP Service: for 30 s after an installation or a rollout, DNS caches may
have no address of the headless Service, or only those of replicas that are gone. `parley top` uses the headless Service to read every replica.
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
The variables with which `parley top` finds missing replicas: a headless Service has no address of a replica that is not ready.
*/}}
{{- define "parley.minReplicasEnv" -}}
{{- range $variable, $values := dict "EDGE" .Values.edge "CONVERSATION" .Values.conversation "QUOTA" .Values.quota "LLM" .Values.llmProxy -}}
- name: PARLEY_{{ $variable }}_MIN_REPLICAS
  value: {{ include "parley.minReplicas" $values | quote }}
{{ end -}}
{{- end -}}

{{/*
A database URL without the password: (dict "root" $ "user" "parley_quota" "host" … "port" …). PGPASSWORD holds the password, which may therefore
contain any character.
*/}}
{{- define "parley.databaseUrl" -}}
{{- $db := .root.Values.database -}}
{{- $missing := ternary "database.router.host is empty: name the router" "database.host is empty: name your PostgreSQL server" $db.router.enabled -}}
{{- $host := .host | required $missing -}}
postgres://{{ .user }}@{{ $host }}:{{ .port | int }}/{{ $db.name }}
{{- if include "parley.usesTrialPostgres" .root }}
{{- else if eq $db.tls.mode "verify-full" }}?sslmode=verify-full
{{- if $db.tls.ca.existingSecret }}&sslrootcert=/etc/parley/database-ca/ca.crt{{ end }}
{{- else if eq $db.tls.mode "no-verify" }}?sslmode=no-verify
{{- end }}
{{- end -}}

{{/* The suffix of each database role's name, and of the Secret key that holds the role's password. */}}
{{- define "parley.roleSetSuffix" -}}
{{ ternary "_2" "" (eq (int .Values.database.roleSet) 2) }}
{{- end -}}

{{/* The variable with the number of logical shards, if there is a router. */}}
{{- define "parley.shardsEnv" -}}
{{- with .Values.database.router }}{{- if .enabled }}
- name: DATABASE_SHARDS
  value: {{ .shards | int | quote }}
{{- end }}{{- end }}
{{- end -}}

{{/* The variables of a service's database connection. Takes a component (see _pod.tpl) whose "schema" is set. */}}
{{- define "parley.databaseEnv" -}}
{{- $db := .root.Values.database -}}
{{- $suffix := include "parley.roleSetSuffix" .root -}}
- name: DATABASE_URL
  value: {{ include "parley.databaseUrl" (dict "root" .root "user" (printf "%s%s%s%s" $db.rolePrefix .schema $suffix $db.userSuffix) "host" (default (include "parley.databaseHost" .root) .values.databaseHost) "port" (include "parley.databasePort" .root)) | quote }}
{{ include "parley.secretEnv" (dict "root" .root "env" "PGPASSWORD" "key" (printf "%s_DATABASE_PASSWORD%s" (upper .schema) $suffix) "secret" $db.existingSecret) }}
- name: DATABASE_POOL
  value: {{ .values.databasePool | quote }}
{{- include "parley.shardsEnv" .root }}
{{- if not $db.preparedStatements }}
- name: DATABASE_PREPARED_STATEMENTS
  value: "off"
{{- end }}
{{- end -}}
