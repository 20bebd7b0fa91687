{{/* The name of the Secret with all passwords, tokens and keys. In a trial, the setup Job creates the Secret if it is missing. */}}
{{- define "parley.secretName" -}}
{{ default (ternary (printf "%s-trial" (include "parley.fullname" .)) "" .Values.trial.enabled) .Values.existingSecret }}
{{- end -}}

{{- define "parley.databaseHost" -}}
{{- if include "parley.usesTrialPostgres" . -}}
{{ include "parley.host" (dict "root" . "name" "trial-postgres") }}
{{- else if .Values.database.router.enabled -}}
{{ .Values.database.router.host }}
{{- else -}}
{{ .Values.database.host }}
{{- end -}}
{{- end -}}

{{- define "parley.databasePort" -}}
{{- $port := .Values.database.port -}}
{{- if .Values.database.router.enabled -}}
{{- $port = default $port .Values.database.router.port -}}
{{- end -}}
{{ $port | int }}
{{- end -}}

{{/* Returns "true" if the services use the trial's PostgreSQL server. */}}
{{- define "parley.usesTrialPostgres" -}}
{{- if and .Values.trial.enabled (not .Values.database.host) (not .Values.database.router.enabled) }}true{{ end -}}
{{- end -}}

{{/* The identity provider as JSON. If a trial has no identity provider, the URLs have a host that cannot exist, so no access token is valid. */}}
{{- define "parley.sso" -}}
{{- $noProvider := dict "issuer" "https://trial.invalid/" "audience" "parley" "jwksUrl" "https://trial.invalid/jwks.json" -}}
{{- if and .Values.trial.enabled (not .Values.sso.issuer) -}}
{{ mergeOverwrite (deepCopy .Values.sso) $noProvider | toJson }}
{{- else -}}
{{ .Values.sso | toJson }}
{{- end -}}
{{- end -}}

{{- define "parley.trial.setupSpec" -}}
{{- $setup := dict "root" . "name" "trial-setup" "values" .Values.trial.setup -}}
{{- $name := include "parley.name" $setup -}}
backoffLimit: 4
activeDeadlineSeconds: 600
template:
  metadata:
    labels:
      {{- include "parley.labels" $setup | nindent 6 }}
  spec:
    {{- include "parley.podSpec" (merge (dict "mountsToken" true) $setup) | nindent 4 }}
    restartPolicy: OnFailure
    containers:
      - name: setup
        image: {{ include "parley.image" (dict "root" . "values" .Values.cli) }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        terminationMessagePolicy: FallbackToLogsOnError
        command: [node, /setup/setup.mjs]
        securityContext:
          {{- include "parley.containerSecurity" $setup | nindent 10 }}
        env:
          {{- include "parley.opsUrls" $setup | nindent 10 }}
          - name: NODE_EXTRA_CA_CERTS
            value: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
          - name: NAMESPACE
            value: {{ .Release.Namespace }}
          - name: SECRET
            value: {{ include "parley.secretName" . }}
          {{- /* The ConfigMap that owns the Secret. */}}
          - name: OWNER
            value: {{ $name }}
          - name: EDGE_SERVICE
            value: {{ include "parley.fullname" . }}
          - name: EDGE_PORT
            value: {{ .Values.edge.service.port | quote }}
        {{- include "parley.containerExtras" $setup | nindent 8 }}
        resources:
          {{- toYaml .Values.trial.setup.resources | nindent 10 }}
{{- end -}}

{{/*
"parley.networkPolicy" includes ingress rules from "parley.<name>.from" and egress rules from "parley.<name>.to". An empty template adds no rules.
*/}}
{{- define "parley.trial-postgres.from" -}}
{{ include "parley.fromCallers" (dict "root" .root "callers" (list "conversation" "quota" "llm-proxy" "migrations") "port" "postgres") }}
{{- end -}}

{{- define "parley.trial-postgres.to" -}}{{- end -}}

{{- define "parley.trial-setup.from" -}}{{- end -}}

{{/* The Job calls the Kubernetes API. No selector matches the control plane, so the policy permits egress to any address. */}}
{{- define "parley.trial-setup.to" -}}
{{ include "parley.cli.to" . | trim }}
- {}
{{- end -}}
