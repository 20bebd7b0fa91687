{{- define "parley.quota.env" -}}
{{ include "parley.databaseEnv" . }}
{{- end -}}

{{- define "parley.quota.from" -}}
{{ include "parley.fromCallers" (dict "root" .root "callers" (list "edge" "conversation") "port" "grpc") }}
{{- include "parley.fromOpsClients" . }}
{{- end -}}

{{- define "parley.quota.to" -}}
{{ include "parley.toDatabase" .root }}
{{- end -}}
