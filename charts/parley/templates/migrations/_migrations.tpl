{{/* Returns "true" if the Job is a hook. In a trial it is not, because hooks would run before the trial's PostgreSQL starts. */}}
{{- define "parley.migrations.isHook" -}}
{{- if and .Values.migrations.hook (not .Values.trial.enabled) }}true{{ end -}}
{{- end -}}

{{/*
The annotations of a hook. Helm runs hooks by weight before it creates other resources, so all resources that the Job needs are hooks too.
A failed Job remains, with its log and its pod's status, until the next upgrade replaces it. `helm uninstall` leaves it behind.
*/}}
{{- define "parley.hook" -}}
{{- if include "parley.migrations.isHook" .root }}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
helm.sh/hook-output-log-policy: hook-succeeded,hook-failed
argocd.argoproj.io/hook: PreSync
argocd.argoproj.io/hook-delete-policy: BeforeHookCreation,HookSucceeded
argocd.argoproj.io/sync-wave: {{ .weight | quote }}
{{- end }}
{{- end -}}

{{/* Ingress rules of the Job's pods: none. "parley.networkPolicy" includes this template and "parley.migrations.to" by name. */}}
{{- define "parley.migrations.from" -}}{{- end -}}

{{- define "parley.migrations.to" -}}
{{- $values := .root.Values -}}
{{- if include "parley.usesTrialPostgres" .root -}}
{{ include "parley.toDatabase" .root }}
{{- else -}}
{{ include "parley.toPeers" (dict "peers" $values.networkPolicy.database "port" (default (include "parley.databasePort" .root) $values.migrations.database.port)) }}
{{- end -}}
{{- if include "parley.migrations.isHook" .root }}
{{ include "parley.preflight.to" . }}
{{- end }}
{{- end -}}

{{/*
The Job's spec. Each container migrates one schema. Before that, it checks everything that it needs, and exits 78 if another attempt would fail
too (see packages/service-kit/src/database/run-migrations.ts). A hook then fails immediately, so that helm prints the cause. An ordinary Job retries,
because it may start before its database. A hook also runs the edge's preflight, whose warnings helm prints.

An advisory lock serializes the containers, even those of different Jobs. The spec has no ttlSecondsAfterFinished: if Kubernetes deleted the finished Job, a GitOps tool would create and run it again. The "schema" of the pod can
have any value, because "parley.podSpec" only checks that it is set, to add the volume of the database's CA. "parley.migrations.jobName" hashes
this template's output, so do not add YAML comments to it.
*/}}
{{- define "parley.migrations.spec" -}}
{{- $values := .Values -}}
{{- $migrations := dict "root" . "name" "migrations" "values" $values.migrations -}}
{{- $host := default (include "parley.databaseHost" .) $values.migrations.database.host -}}
{{- $port := default (include "parley.databasePort" .) $values.migrations.database.port -}}
{{- /* Without a hook, the containers wait until the Secret exists. */ -}}
{{- $isHook := include "parley.migrations.isHook" . -}}
{{- /* cert-manager creates the certificates only after the hook. */ -}}
{{- $hasCertificates := and $isHook .Values.mtls.enabled (not .Values.mtls.certManager) | not | not -}}
{{- $preflight := merge (dict "preflight" true "optionalSecrets" true "mtls" $hasCertificates) $migrations -}}
backoffLimit: 4
{{- if $isHook }}
podFailurePolicy:
  rules:
    - action: FailJob
      onExitCodes:
        operator: In
        values: [78]
{{- end }}
activeDeadlineSeconds: {{ $values.migrations.activeDeadlineSeconds | int }}
template:
  metadata:
    {{- include "parley.podMeta" $migrations | nindent 4 }}
  spec:
    {{- include "parley.podSpec" (merge (dict "schema" "all") (ternary $preflight $migrations (not (empty $isHook)))) | nindent 4 }}
    restartPolicy: Never
    containers:
      {{- range list (dict "name" "conversation" "key" "conversation" "schema" "conversation" "values" $values.conversation) (dict "name" "quota" "key" "quota" "schema" "quota" "values" $values.quota) (dict "name" "llm-proxy" "key" "llmProxy" "schema" "llm" "values" $values.llmProxy) }}
      {{- $component := merge (dict "root" $) . }}
      {{- $database := dict "root" $ "user" "$(DATABASE_ADMIN_USERNAME)" "host" (coalesce (get $values.migrations.database.hosts .key) .values.databaseHost $host) "port" $port }}
      - name: {{ .name }}
        image: {{ include "parley.image" $component }}
        imagePullPolicy: {{ $values.image.pullPolicy }}
        terminationMessagePolicy: FallbackToLogsOnError
        command: [node, src/migrate.ts]
        securityContext:
          {{- include "parley.containerSecurity" $component | nindent 10 }}
        env:
          {{- include "parley.secretEnv" (dict "root" $ "optional" $isHook "env" "DATABASE_ADMIN_USERNAME" "key" $values.migrations.admin.usernameKey "secret" $values.migrations.admin.existingSecret) | nindent 10 }}
          {{- include "parley.secretEnv" (dict "root" $ "optional" $isHook "env" "PGPASSWORD" "key" $values.migrations.admin.passwordKey "secret" $values.migrations.admin.existingSecret) | nindent 10 }}
          - name: DATABASE_URL
            value: {{ include "parley.databaseUrl" $database | quote }}
          {{- with include "parley.shardsEnv" $ | trim }}
          {{- . | nindent 10 }}
          {{- end }}
          {{- with include "parley.extraCaEnv" $migrations | trim }}
          {{- . | nindent 10 }}
          {{- end }}
          - name: PARLEY_INSTALLATION
            value: {{ printf "%s/%s" $.Release.Namespace $.Release.Name | quote }}
          - name: DATABASE_ROLE_PREFIX
            value: {{ $values.database.rolePrefix }}
          {{- $suffix := include "parley.roleSetSuffix" $ }}
          {{- with $suffix }}
          - name: DATABASE_ROLE_SUFFIX
            value: {{ . }}
          {{- end }}
          {{- if $values.migrations.createRoles }}
          - name: DATABASE_CREATE_ROLE
            value: "on"
          {{- include "parley.secretEnv" (dict "root" $ "optional" $isHook "env" "DATABASE_PASSWORD" "key" (printf "%s_DATABASE_PASSWORD%s" (upper .schema) $suffix) "secret" $values.database.existingSecret) | nindent 10 }}
          {{- end }}
          {{- if $hasCertificates }}
          - name: GRPC_TLS_DIR
            value: /etc/parley/tls
          - name: GRPC_TLS_NAME
            value: {{ include "parley.host" $component }}
          {{- end }}
        resources:
          {{- toYaml $values.migrations.resources | nindent 10 }}
        {{- $mounts := dict "schema" .schema "mtls" $hasCertificates "tlsVolume" (printf "tls-%s" .name) }}
        {{- with include "parley.containerExtras" (merge $mounts $migrations) | trim }}
        {{- . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- if $isHook }}
      {{- include "parley.preflight.container" (dict "component" $preflight) | nindent 6 }}
      {{- end }}
{{- end -}}

{{/*
The Job's name. Kubernetes does not permit changes of a Job's spec. So the name of a Job that is not a hook contains a hash of the spec, and a
changed spec creates a new Job.
*/}}
{{- define "parley.migrations.jobName" -}}
{{- $name := include "parley.name" (dict "root" . "name" "migrations") -}}
{{- if include "parley.migrations.isHook" . -}}
{{ $name }}
{{- else -}}
{{ $name }}-{{ include "parley.migrations.spec" . | sha256sum | trunc 8 }}
{{- end -}}
{{- end -}}
