{{/* The name of the Secret with all passwords, tokens and keys. In a trial, the setup Job creates the Secret. */}}
{{- define "parley.secretName" -}}
{{ default (ternary (printf "%s-trial" (include "parley.fullname" .)) "" .Values.trial.enabled) .Values.existingSecret }}
{{- end -}}

{{- define "parley.databaseHost" -}}
{{ ternary (include "parley.host" (dict "root" . "name" "trial-postgres")) .Values.database.host (eq (include "parley.usesTrialPostgres" .) "true") }}
{{- end -}}

{{/* Returns "true" if the services use the trial's PostgreSQL server. */}}
{{- define "parley.usesTrialPostgres" -}}
{{- if and .Values.trial.enabled (not .Values.database.host) }}true{{ end -}}
{{- end -}}

{{/* The identity provider as JSON. A trial without one names an issuer that cannot exist, so no access token is valid. */}}
{{- define "parley.sso" -}}
{{- $none := dict "issuer" "https://trial.invalid/" "audience" "parley" "jwksUrl" "https://trial.invalid/jwks.json" -}}
{{- if and .Values.trial.enabled (not .Values.sso.issuer) -}}
{{ mergeOverwrite (deepCopy .Values.sso) $none | toJson }}
{{- else -}}
{{ .Values.sso | toJson }}
{{- end -}}
{{- end -}}

{{- define "parley.trial-postgres.from" -}}
{{ include "parley.fromCallers" (dict "root" .root "callers" (list "conversation" "quota" "llm-proxy" "migrations") "port" "postgres") }}
{{- end -}}

{{- define "parley.trial-postgres.to" -}}{{- end -}}

{{- define "parley.trial-setup.from" -}}{{- end -}}

{{/* Egress to any address, for the Kubernetes API: its addresses and port are those of the control plane, which no selector matches. */}}
{{- define "parley.trial-setup.to" -}}
{{ include "parley.cli.to" . | trim }}
- {}
{{- end -}}
